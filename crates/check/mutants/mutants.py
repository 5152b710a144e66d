"""The mutants of crates/check: name, file below src, what is found there once, what is put in its place, and
the tests that kill it. Finds are expressions, or statements that end in a semicolon. Each makes the checker
accept something that it must not, or claim more than it may."""

LIB, IT = "lib", "it"

UNITS = (LIB, "bounds_of_units")
PULL = (LIB, "a_pull_is_no_better")
SMALL_BOXES = (LIB, "bounds_of_small_boxes")
LEAVES = (LIB, "leaves_hold")
LINES = (LIB, "lines_lie")
MARGIN = (LIB, "executions_in_any_order")
CHORDS = (LIB, "chord")
ALONG_ONE = (LIB, "interpolation")
ALONG_FEW = (LIB, "lines_that_go_forward_hold")
REGION = (LIB, "region")
INFERENCE = (LIB, "inference::small")
RUN = (IT, "executions::")
REJECT = (IT, "rejections::")
SLOPES = (IT, "slopes::")
ELIMINATION = (LIB, "steepness::")
ELIMINATED = (IT, "eliminated::")
STEEP = (IT, "steepness::")
OVERFLOW = (IT, "overflow::")

BACKWARD = "bounds/backward.rs"
LINE = "bounds/lines.rs"
NARROW = "bounds/box_bounds.rs"
FLOAT = "bounds/float.rs"
CHORD = "bounds/chord.rs"
INTERPOLATION = "bounds/interpolation.rs"
FORWARD = "bounds/forward.rs"
LEAF = "bounds/leaf.rs"
TOGETHER = "bounds/together.rs"
READING = "steepness/reading.rs"
ENVELOPE = "steepness/envelope.rs"
MAXIMA = "steepness/maxima.rs"
FRONTIER = "steepness/frontier.rs"
STEEPNESS = "steepness/verdict.rs"
ADJOINTS = "steepness/adjoints.rs"
DEFINITE = "steepness/definite.rs"
FORMS = "steepness/forms.rs"
GRAM = "steepness/gram.rs"
PROBLEM = "steepness/problem.rs"
QUADRATIC = "steepness/quadratic.rs"
RANGES = "steepness/ranges.rs"
SIZES = "steepness/sizes.rs"
SUBJECT = "steepness/subject.rs"
CONTEXT = "bounds/context.rs"
DEDUCTION = "inference/deduction.rs"
JOINT = "inference/joint.rs"
PROVEN = "inference/proven.rs"

MUTANTS = [
    # Variables eliminated from the squares of derivatives.
    ("a variable that a sum names again is taken for another", GRAM, "up(up(sum * repeats as f64).sqrt())", "up(sum.sqrt())", ELIMINATION),
    ("half of the pairs of terms are left out", SIZES, "sum.abs() + error * roots[other] + TINY", "0.5 * sum.abs() + error * roots[other] + TINY", ELIMINATION),
    ("entries of products err by nothing", GRAM, "up(up(others * root) * rounding + own)", "up(own)", ELIMINATION),
    ("variables that many read are divided by their weight the wrong way", READING, "factor / w", "factor * w", ELIMINATION),
    ("huge weights are multiplied all the same", READING, "weight.abs() <= LARGEST_ENTRY", "!weight.is_nan()", ELIMINATION),
    ("entries beyond the end of the row above are left out", ENVELOPE, "end.max(last + 1).max(row + 1)", "(last + 1).max(row + 1)", ELIMINATION),
    ("the factorisation of an envelope does not round", ENVELOPE, "let shift = worst + 4.0 * (n as f64 + 4.0) * f64::EPSILON * trace + UNDERFLOW;", "let shift = worst + 0.0 * trace;", ELIMINATION),
    ("errors of an envelope are left out", ENVELOPE, "errors(&scales).into_iter().fold(0.0, larger)", "errors(&scales).into_iter().fold(0.0, |sum, _| sum)", ELIMINATION),
    ("time does not end a factorisation", ENVELOPE, "until.is_over()", "false", ELIMINATION),
    ("members that several maxima have count once", MAXIMA, "up(squares[place] * times[place])", "up(squares[place])", ELIMINATION),
    ("a weight that is no number is dropped", MAXIMA, "weight.fold(0.0, larger)", "weight.fold(0.0, f64::max)", ELIMINATION),
    ("what reads members beside maxima is forgotten", MAXIMA, "chains.is_empty() || is_read_elsewhere(cone, after, &chains, &place)", "chains.is_empty()", ELIMINATION),
    ("what a reader had of other groups is forgotten", FRONTIER, "up(*weight + up(share.weight * up(share.slope * share.slope)))", "up(share.weight * up(share.slope * share.slope))", ELIMINATION),
    ("slopes of curves are taken for less", FRONTIER, "up(*weight + up(share.weight * up(share.slope * share.slope)))", "up(*weight + up(share.weight * up(0.9 * share.slope * share.slope)))", ELIMINATION),
    ("a factor is not confirmed", STEEPNESS, "part.advance_within(factor, Until::NEVER)", "part.advance_within(factor, Until::NEVER) || factor > 0.0", ELIMINATED),
    ("factors of other groups pass", STEEPNESS, "!ascending || factors.last().is_some_and(|(last, _)| last >= groups)", "!ascending", ELIMINATED),
    ("factors in any order pass", STEEPNESS, "!ascending || factors.last().is_some_and(|(last, _)| last >= groups)", "factors.last().is_some_and(|(last, _)| last >= groups)", ELIMINATED),
    ("more groups are eliminated than there are", STEEPNESS, "*groups as usize > problem.groups()", "*groups as usize > usize::MAX", ELIMINATED),
    # How steep a network is.
    ("derivatives do not round", ADJOINTS, "self.error[variable] += f64::EPSILON * mass + TINY;", "self.error[variable] += 0.0 * mass;", STEEP),
    ("a derivative with a negative weight keeps its ends", ADJOINTS, "(high * weight, low * weight)", "(low * weight, high * weight)", ELIMINATION),
    ("the least slope of a unit is forgotten", ADJOINTS, "[l.min(p), u.max(q)]", "[p, q]", ELIMINATION),
    ("the largest slope of a unit is forgotten", ADJOINTS, "[l.min(p), u.max(q)]", "[l, u]", STEEP),
    ("a derivative that is no number stays so", ADJOINTS, "low <= high", "true", OVERFLOW),
    ("sums that are no numbers are bounds", BACKWARD, "found.iter().any(|end| end.is_nan())", "false", OVERFLOW),
    ("coefficients of forms do not round", FORMS, "*to_error += size * error + f64::EPSILON * (part.abs() + to.abs()) + TINY;", "*to_error += 0.0 * size * error;", STEEP),
    ("a form has the slope of its unit with the wrong sign", FORMS, "(&mut self.above_low, 1.0, -low)", "(&mut self.above_low, 1.0, low)", ELIMINATION),
    ("errors of forms are left out", QUADRATIC, "*into += value.abs() * ours + inflated(*error) * theirs;", "*into += value.abs() * ours;", STEEP),
    ("products that are no doubles have no errors", QUADRATIC, "*into += value.abs() * ours + inflated(*error) * theirs;", "*into += factor * (value.abs() * (ours / factor) + inflated(*error) * (theirs / factor));", (LIB, "errors_of_forms")),
    ("multiples of half of what is known are taken off", QUADRATIC, "subtract_product(&mut matrix, n, high, low, half);", "", ELIMINATION),
    ("a factorisation does not round", DEFINITE, "let shift = worst + 4.0 * (n as f64 + 4.0) * f64::EPSILON * trace + UNDERFLOW;", "let shift = worst + 0.0 * trace;", ELIMINATION),
    ("errors of a matrix are left out", DEFINITE, "errors(&scales).into_iter().fold(0.0, larger)", "errors(&scales).into_iter().fold(0.0, |sum, _| sum)", ELIMINATION),
    ("errors that are no numbers are dropped", DEFINITE, "if a.is_nan() || a >= b { a } else { b }", "a.max(b)", ELIMINATION),
    ("kinks that rounding moved are taken as they are", RANGES, "2.0 * gap / (a.slope - b.slope).abs() + 1e-9 * (1.0 + b.from.abs())", "0.0 * (a.slope - b.slope) * b.from", ELIMINATION),
    ("one slope of a curve is all it has", RANGES, "[range[0].min(part.slope), range[1].max(part.slope)]", "[part.slope, part.slope]", ELIMINATION),
    ("a part between two kinks that are one double is forgotten", RANGES, "(two[0].slope - two[1].slope).abs() <= 0.0", "two[0].slope > f64::INFINITY", OVERFLOW),
    ("a part above a kink is the one below", PROBLEM, "*l = l.max(kink);", "*u = u.min(kink);", STEEP),
    ("where a unit stays at one value there is nothing", PROBLEM, "bounds.iter().any(|[l, u]| l > u)", "bounds.iter().any(|[l, u]| l >= u)", STEEP),
    ("outputs together are as steep as the steepest", PROBLEM, "let squares = sum_up(live.map(|m| m * m));", "let squares = live.map(|m| m * m).fold(0.0, larger);", STEEP),
    ("in l1 the steepest output counts", PROBLEM, "sum_up(each.iter().map(|m| m[place]))", "each.iter().map(|m| m[place]).fold(0.0, larger)", STEEP),
    ("in l1 outputs together are as in l2", SUBJECT, "outputs as f64", "1.0", STEEP),
    ("elements whose weight is 0 do not count", SUBJECT, "up(width * up(width / weight))", "if weight > 0.0 { up(width * up(width / weight)) } else { 0.0 }", OVERFLOW),
    ("squares of widths underflow", SUBJECT, "up(width * up(width / weight))", "up(width * width / weight)", OVERFLOW),
    ("widths are no weights", SUBJECT, "up(width * width)", "width", STEEP),
    ("any bound follows from magnitudes", STEEPNESS, "part.by_magnitudes() <= bound", "true", STEEP),
    ("an infinite bound is one", STEEPNESS, "*bound >= 0.0 && bound.is_finite()", "true", STEEP),
    ("one case stands for all", STEEPNESS, "proofs.len() != self.cases()", "false", STEEP),
    ("slopes of another model", STEEPNESS, "certificate.model != *model", "false", STEEP),
    ("a unit has two multipliers", STEEPNESS, "known.len() != multipliers.len()", "false", STEEP),
    ("widths may be negative", STEEPNESS, "widths.len() != elements || !widths.iter().all(|w| *w >= 0.0 && w.is_finite())", "widths.len() != elements", STEEP),
    ("outputs may be named twice", STEEPNESS, "outputs.is_empty() || !known || !outputs.is_sorted_by(|a, b| a < b)", "outputs.is_empty() || !known", STEEP),
    ("what follows a tree is not looked at", STEEPNESS, "Err(\"something follows the end of the tree\".into())", "Ok(())", STEEP),
    # Pulling back.
    ("the error of a pass is not taken off", BACKWARD, "result - error", "result", PULL),
    ("the error of a pass is added", BACKWARD, "result - error", "result + error", PULL),
    ("the error of a pass counts one rounding", BACKWARD, "2.0 * f64::EPSILON * terms * mass + UNDERFLOW", "0.01 * f64::EPSILON * mass", PULL),
    ("what is no number is let through", BACKWARD, "mass <= LARGEST && result.abs() <= LARGEST", "true", REJECT),
    ("intervals are not widened", BACKWARD, "let found = [low - error, high + error];", "let found = [low, high];", UNITS),
    ("intervals are narrowed", BACKWARD, "let found = [low - error, high + error];", "let found = [low + error, high - error];", UNITS),
    ("a negative weight keeps the ends", BACKWARD, "if weight < 0.0 { (u, l) } else { (l, u) }", "(l, u)", UNITS),
    ("the wrong line by the sign of a coefficient", BACKWARD, "a[lane] >= 0.0", "a[lane] < 0.0", PULL),
    ("the wrong end by the sign of a coefficient", BACKWARD, "if a[lane] < 0.0 { high[lane] } else { low[lane] }", "if a[lane] < 0.0 { low[lane] } else { high[lane] }", PULL),
    ("magnitudes of sums are not counted", BACKWARD, "self.mass[lane] += a[lane].abs() * mass;", "", (LIB, "coefficients_that_cancel")),
    ("the size of a unit is that of its nearer end", BACKWARD, "size.min(l.abs().max(u.abs()))", "size.min(l.abs().min(u.abs()))", UNITS),
    # Bounds of units.
    ("a lower bound from the upper pull", CONTEXT, "l.max(lower[2 * pair])", "l.max(-lower[2 * pair + 1])", UNITS),
    ("an upper bound without its sign", CONTEXT, "u.min(-lower[2 * pair + 1])", "u.min(lower[2 * pair + 1])", UNITS),
    # Lines.
    ("a line below without its rounding", LINE, "value - rise - slack(exact, value.abs() + rise.abs())", "value - rise", LINES),
    ("a line above without its rounding", LINE, "value - rise + slack(exact, value.abs() + rise.abs())", "value - rise", LINES),
    ("kinks are not looked at", LINE, "l < k && k < u", "false", LINES),
    ("the value at a point is taken as exact", LINE, "[value - error, value + error]", "[value, value]", LINES),
    ("an underflow is taken as exact", LINE, "let nothing = part.slope == 0.0 || x == 0.0;", "let nothing = rise == 0.0;", LINES),
    ("a straight part is taken to meet the next", LINE, "line(more(left.intercept, gap))", "line(left.intercept)", LINES),
    # Small boxes.
    ("small boxes: the wrong line", NARROW, "a[lane] >= 0.0", "a[lane] < 0.0", SMALL_BOXES),
    ("small boxes: the wrong end", NARROW, "if a[lane] < 0.0 { high } else { low }", "if a[lane] < 0.0 { low } else { high }", SMALL_BOXES),
    ("small boxes: no magnitudes", NARROW, "lowered(constant[lane], mass[lane], terms)", "lowered(constant[lane], 0.0, terms)", SMALL_BOXES),
    ("small boxes: an upper bound without its sign", NARROW, "u.min(-lower[2 * pair + 1])", "u.min(lower[2 * pair + 1])", SMALL_BOXES),
    # Along one input, and along few.
    ("a curve bends at its ends alone", CHORD, "a.min(b) < x && x < a.max(b)", "false", CHORDS),
    ("a falling part leaves below what is below", CHORD, "part.slope < 0.0", "false", CHORDS),
    ("lines of a maximum do not cross", CHORD, "(before < 0.0) != (after < 0.0) && change != 0.0", "false", CHORDS),
    ("a maximum is below by the better end", CHORD, "own[0].max(own[1])", "own[0].min(own[1])", CHORDS),
    ("the smallest keeps its sign turned", CHORD, "largest(members).negated()", "largest(members)", CHORDS),
    ("something is known of what is no number", CHORD, "a.abs() + b.abs() + self.below + self.above < f64::INFINITY", "true", CHORDS),
    ("a negative weight leaves below what is below", INTERPOLATION, "usize::from(weight < 0.0)", "0", ALONG_ONE),
    ("errors of terms are none of sums", INTERPOLATION, "size * from", "0.0 * from", ALONG_ONE),
    ("the better end counts", INTERPOLATION, "a.max(b) + above", "a.min(b) + above", ALONG_ONE),
    ("a line goes on with the wrong line", FORWARD, "rises == (sign > 0.0)", "rises != (sign > 0.0)", ALONG_FEW),
    # Leaves.
    ("factors may be negative", LEAF, "factor > 0.0 && factor.is_finite()", "factor.is_finite()", REJECT),
    ("multipliers may be negative", LEAF, "multiplier >= 0.0 && multiplier.is_finite()", "multiplier.is_finite()", REJECT),
    ("the condition of a split with the wrong sign", LEAF, "if above { 1.0 } else { -1.0 }", "if above { -1.0 } else { 1.0 }", LEAVES),
    ("a unit above its kink is kept below it", LEAF, "[l.max(kink), u]", "[l, u.min(kink)]", LEAVES),
    ("both halves of an input split are the lower one", LEAF, "[low.max(at), high]", "[low, high.min(at)]", REJECT),
    ("a tree may have parts without a leaf", LEAF, "if finished {\n        Ok(seconds)\n    } else {\n        Err(\"a part of the region has no leaf\".into())\n    }", "Ok(seconds)", REJECT),
    ("a condition confines a unit to the other side", LEAF, "if term.weight > 0.0 {\n            (down, f64::INFINITY)\n        } else {\n            (f64::NEG_INFINITY, up)\n        }", "if term.weight < 0.0 {\n            (down, f64::INFINITY)\n        } else {\n            (f64::NEG_INFINITY, up)\n        }", RUN),
    # Leaves of many entries side by side.
    ("a leaf may add up conditions of other entries", TOGETHER, "(atom as usize) < case.atoms.len()", "(atom as usize) < usize::MAX", REJECT),
    ("leaves add up the conditions of the first entry", TOGETHER, "*atom += first;", "", REJECT),
    ("entries have the bound of another lane", LEAF, "-bound[lane]", "-bound[0]", REJECT),
    # Executions.
    ("margins ignore factors", LEAF, "f64::from(factor) * margin.unwrap_or(f64::INFINITY)", "margin.unwrap_or(f64::INFINITY)", RUN),
    ("confined units have a margin", LEAF, "confine(cone, atoms, &mut bounds)", "confine(cone, atoms, &mut bounds) && false", RUN),
    ("sums do not round", FLOAT, "carried + (count + 2.0) * UNIT * mass + lost", "carried + lost", MARGIN),
    ("errors are not carried along", FLOAT, "carried + (count + 2.0) * UNIT * mass + lost", "(count + 2.0) * UNIT * mass + lost", MARGIN),
    ("nothing underflows", FLOAT, "carried + (count + 2.0) * UNIT * mass + lost", "carried + (count + 2.0) * UNIT * mass", RUN),
    ("nothing overflows", FLOAT, "up(largest) + error <= LARGEST", "true", RUN),
    ("any bound covers executions", "accepted.rs", "self.value < -self.margin", "self.value < 0.0", RUN),
    ("the better of two bounds counts", "accepted.rs", "self.value.max(other.value)", "self.value.min(other.value)", REJECT),
    ("a corner covers every order of summation", "verdict.rs", "let margin = f64::INFINITY;", "let margin = 0.0;", REJECT),
    # What a certificate is about.
    ("a bound above 0 refutes", "verdict.rs", "bound.value < 0.0", "bound.value < 1.0", REJECT),
    ("a corner refutes what is attained", "verdict.rs", "value < 0.0 || (strict && value <= 0.0)", "value <= 0.0", REJECT),
    ("certificates of another model", "verdict.rs", "certificate.model != *expectation.model", "false", REJECT),
    ("facts of another model", PROVEN, "*accepted.model() != self.model", "false", RUN),
    ("facts of another box", PROVEN, "region.contains(inner)", "region.contains(inner) || true", RUN),
    ("every fact is one about executions", PROVEN, "bound.covers_executions()", "bound.value < 0.0", RUN),
    ("a box contains what is wider below", "certificate.rs", "self.lower.iter().zip(&other.lower).all(|(a, b)| a <= b)", "self.lower.iter().zip(&other.lower).all(|(a, b)| a >= b)", RUN),
    ("a broken seal", "decode.rs", "sha256(content) != *seal", "false", REJECT),
    # The search region.
    ("ends of a ball are rounded to nearest", "region.rs", "(centre - reach - slack).next_down()", "(centre - reach)", REGION),
    ("ends of a ball are rounded inward", "region.rs", "(centre - reach - slack).next_down()", "(centre - reach + slack)", REGION),
    ("widths are ignored", "region.rs", "radius * width", "radius", REGION),
    # Slopes between two inputs.
    ("rounding counts as a slope", "slope.rs", "lower[output] - upper[each + output]", "upper[output] - lower[each + output]", SLOPES),
    ("inputs outside the region have slopes there", "slope.rs", "ratio.region.contains(input, space)", "ratio.region.contains(input, space) || true", SLOPES),
    ("a slope is rounded up", "slope.rs", "(1.0 - ROUNDING)", "(1.0 + ROUNDING)", SLOPES),
    # Inference.
    ("an easier condition follows", DEDUCTION, "constant < self.constant", "constant > self.constant", INFERENCE),
    ("strictness is ignored", DEDUCTION, "(strict || !self.strict)", "(strict || true)", INFERENCE),
    ("opposite conditions exclude each other where both hold", DEDUCTION, "a < b || (a <= b && (self.strict || of_negation.strict))", "a <= b", INFERENCE),
    ("one impossible alternative is enough", DEDUCTION, "of.iter().all(part)", "of.iter().any(part)", INFERENCE),
    ("a count misses by one", DEDUCTION, "of.iter().filter(|f| !part(f)).count() < *count", "of.iter().filter(|f| !part(f)).count() <= *count", INFERENCE),
    ("one box is enough", DEDUCTION, "needed.all(|b| self.refute_in(b, requirement))", "needed.any(|b| self.refute_in(b, requirement))", INFERENCE),
    ("sums on two inputs that can be reached", DEDUCTION, "(sum + atom.constant).next_up() < 0.0", "(sum + atom.constant).next_up() < 1.0", INFERENCE),
    ("a value that grows enough is said to stay", DEDUCTION, "(sigma * least).next_down()", "(2.0 * sigma * least)", INFERENCE),
    ("any condition on a path is one that is impossible", JOINT, "limit.covers(held.constant, held.strict)", "limit.covers(held.constant, held.strict) || true", INFERENCE),
    ("conditions on both inputs that can be met", JOINT, "sum < 0.0", "sum < 1.0", INFERENCE),
]
