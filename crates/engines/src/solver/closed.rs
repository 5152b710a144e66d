//! The nearest point of a box on the far side of one hyperplane: closed forms in three norms.

use deepconcolic_geometry::Norm;

use super::Problem;

/// The displacement of least norm with `row . d >= least` in the problem's box, and its norm;
/// `None` when the box does not reach that far.
///
/// Each element can help by its coefficient times how far it has room on the helpful side. For
/// L-infinity all move equally far, each until its room ends; for L1 the largest coefficients move
/// first; for L2 elements move in proportion to their coefficients. The box holds the centre, up to
/// rounding.
pub(crate) fn nearest_on_one_row(
    row: &[f64],
    least: f64,
    problem: &Problem,
    norm: Norm,
) -> Option<(Vec<f64>, f64)> {
    let mut displacement = vec![0.0; row.len()];
    if least <= 0.0 {
        return Some((displacement, 0.0));
    }
    let room = |e: usize| {
        let room = if row[e] > 0.0 {
            problem.upper[e]
        } else {
            -problem.lower[e]
        };
        room.max(0.0)
    };
    let mut helpful: Vec<(usize, f64)> = (0..row.len())
        .filter(|&e| row[e] != 0.0)
        .map(|e| (e, room(e)))
        .filter(|&(_, room)| room > 0.0)
        .collect();
    if norm == Norm::L1 {
        helpful.sort_by(|a, b| row[b.0].abs().total_cmp(&row[a.0].abs()));
        let mut missing = least;
        for (e, room) in helpful {
            let needed = missing / row[e].abs();
            displacement[e] = room.min(needed).copysign(row[e]);
            missing -= room.min(needed) * row[e].abs();
            if needed <= room {
                missing = 0.0;
                break;
            }
        }
        if missing > 0.0 {
            return None;
        }
    } else {
        let rate = |e: usize| if norm == Norm::L2 { row[e].abs() } else { 1.0 };
        let step = common_step(&mut helpful, least, |e| row[e].abs(), rate)?;
        for (e, room) in helpful {
            displacement[e] = (step * rate(e)).min(room).copysign(row[e]);
        }
    }
    let length = length(&displacement, norm);
    Some((displacement, length))
}

/// The step `s` with `sum gain min(s rate, room) = least`: all elements move at their rates, each
/// until its room ends.
fn common_step(
    helpful: &mut [(usize, f64)],
    least: f64,
    gain: impl Fn(usize) -> f64,
    rate: impl Fn(usize) -> f64,
) -> Option<f64> {
    helpful.sort_by(|a, b| (a.1 / rate(a.0)).total_cmp(&(b.1 / rate(b.0))));
    let mut slope: f64 = helpful.iter().map(|&(e, _)| gain(e) * rate(e)).sum();
    let mut full = 0.0;
    for &(e, room) in helpful.iter() {
        let step = (least - full) / slope;
        if step * rate(e) <= room {
            return Some(step);
        }
        full += gain(e) * room;
        slope -= gain(e) * rate(e);
    }
    None
}

/// The norm of a displacement.
pub(crate) fn length(displacement: &[f64], norm: Norm) -> f64 {
    let sizes = displacement.iter().map(|d| d.abs());
    match norm {
        Norm::L1 => sizes.sum(),
        Norm::L2 => sizes.map(|d| d * d).sum::<f64>().sqrt(),
        _ => sizes.fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_without_room_leave_the_work_to_others() {
        let problem = Problem::new(vec![0.0, -1.0, -1.0], vec![0.1, 1.0, 1.0]);
        let row = [1.0, -1.0, 0.5];
        let (d, t) = nearest_on_one_row(&row, 0.85, &problem, Norm::Linf).unwrap();
        assert!((t - 0.5).abs() < 1e-12 && (d[0] - 0.1).abs() < 1e-12);
        let (d, t) = nearest_on_one_row(&row, 0.85, &problem, Norm::L1).unwrap();
        assert!((t - 0.85).abs() < 1e-12, "{d:?}");
        assert!(nearest_on_one_row(&row, 1.61, &problem, Norm::L2).is_none());
        assert!(nearest_on_one_row(&row, 1.59, &problem, Norm::L2).is_some());
    }
}
