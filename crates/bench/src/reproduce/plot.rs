//! Line plots as SVG with presentation attributes: no script, no style sheet, readable on light and dark pages.

use std::fmt::Write as _;

/// One line.
pub struct Line {
    pub label: String,
    pub points: Vec<(f64, f64)>,
    /// Colour, and whether it is dashed.
    pub colour: &'static str,
    pub dashed: bool,
}

/// A plot.
pub struct Plot {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    /// Whether x is drawn on a logarithmic scale.
    pub logarithmic: bool,
    /// Ends of y.
    pub range: (f64, f64),
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;
/// Room between labels at the ends of lines.
const LABEL: f64 = 14.0;
const TEXT: &str = "font-family=\"sans-serif\" font-size=\"12\" fill=\"#555555\"";

impl Plot {
    /// The picture.
    pub fn svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
             <title>{0}</title>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-family=\"sans-serif\" font-size=\"14\" fill=\"#222222\">{0}</text>\n",
            escaped(&self.title)
        );
        self.axes(&mut svg);
        let mut labels: Vec<(f64, &Line, String)> = Vec::new();
        for line in &self.lines {
            let points: Vec<String> = (line.points.iter())
                .map(|&(x, y)| format!("{:.1},{:.1}", self.across(x), self.up(y)))
                .collect();
            let dashes = if line.dashed {
                " stroke-dasharray=\"5 4\""
            } else {
                ""
            };
            let _ = writeln!(
                svg,
                "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{dashes} points=\"{}\"/>",
                line.colour,
                points.join(" ")
            );
            if let Some(&(_, y)) = line.points.last() {
                // A line that ends on the axis says nothing by its end: its name stands above.
                let (at, value) = if y > self.range.0 {
                    (self.up(y), format!(" {}", self.end_value(y)))
                } else {
                    (TOP, String::new())
                };
                labels.push((at, line, value));
            }
        }
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = TOP;
        for (at, line, value) in labels {
            let y = at.max(free);
            free = y + LABEL;
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"{}\">{}{value}</text>",
                WIDTH - RIGHT + 6.0,
                y + 4.0,
                line.colour,
                escaped(&line.label)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The value at the end of a line. What stays below the upper end of the axis is never written as that end.
    fn end_value(&self, value: f64) -> String {
        let (written, end) = (short(value), short(self.range.1));
        if value >= self.range.1 || written.parse::<f64>() != end.parse::<f64>() {
            return written;
        }
        let finer = (2..=6).map(|digits| format!("{value:.digits$}"));
        let mut finer = finer.filter(|text| text.parse::<f64>().ok() < end.parse::<f64>().ok());
        finer.next().unwrap_or_else(|| format!("below {end}"))
    }

    fn axes(&self, svg: &mut String) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for tick in 0..=5 {
            let (low, high) = self.range;
            let y = low + (high - low) * f64::from(tick) / 5.0;
            let at = self.up(y);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" {TEXT}>{}</text>",
                LEFT - 6.0,
                at + 4.0,
                short(y)
            );
        }
        for x in self.ticks() {
            let at = self.across(x);
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" y1=\"{bottom}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"#999999\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" {TEXT}>{}</text>",
                bottom + 4.0,
                bottom + 18.0,
                short(x)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" {TEXT}>{}</text>\
             <text x=\"14\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {:.1})\" {TEXT}>{}</text>",
            f64::midpoint(LEFT, right),
            HEIGHT - 8.0,
            escaped(self.x),
            f64::midpoint(TOP, bottom),
            f64::midpoint(TOP, bottom),
            escaped(self.y)
        );
    }

    /// Ends of x.
    fn ends(&self) -> (f64, f64) {
        let all = self.lines.iter().flat_map(|line| &line.points).map(|p| p.0);
        let all: Vec<f64> = all.filter(|x| !self.logarithmic || *x > 0.0).collect();
        let low = if self.logarithmic {
            all.iter().copied().fold(f64::INFINITY, f64::min)
        } else {
            0.0
        };
        let high = all.iter().copied().fold(0.0, f64::max);
        if low.is_finite() && high > low {
            (low, high)
        } else {
            (1.0, 10.0)
        }
    }

    fn ticks(&self) -> Vec<f64> {
        let (low, high) = self.ends();
        if self.logarithmic {
            let powers = low.log10().ceil() as i32..=high.log10().floor() as i32;
            return powers.map(|power| 10f64.powi(power)).collect();
        }
        (0..=5).map(|tick| high * f64::from(tick) / 5.0).collect()
    }

    fn across(&self, x: f64) -> f64 {
        let (low, high) = self.ends();
        let part = if self.logarithmic {
            (x.max(low) / low).ln() / (high / low).ln()
        } else {
            (x - low) / (high - low)
        };
        LEFT + part * (WIDTH - RIGHT - LEFT)
    }

    fn up(&self, y: f64) -> f64 {
        let (low, high) = self.range;
        let part = ((y - low) / (high - low)).clamp(0.0, 1.0);
        HEIGHT - BOTTOM - part * (HEIGHT - BOTTOM - TOP)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A number in few digits.
fn short(number: f64) -> String {
    let text = if number.abs() >= 100.0 || number.fract().abs() < 1e-9 {
        format!("{number:.0}")
    } else if number.abs() >= 10.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    };
    if text == "-0" { "0".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>) -> Plot {
        Plot {
            title: "a < b & c".into(),
            x: "tests",
            y: "percent",
            logarithmic: true,
            range: (50.0, 100.0),
            lines: vec![Line {
                label: "ours".into(),
                points,
                colour: "#0072B2",
                dashed: false,
            }],
        }
    }

    #[test]
    fn a_plot_has_its_line_and_escapes_its_title() {
        let svg = plot(vec![(1.0, 60.0), (10.0, 80.0), (100.0, 99.5)]).svg();
        assert!(svg.contains("a &lt; b &amp; c"));
        // The first point is at the left end, the last at the right.
        assert!(svg.contains("points=\"56.0,"));
        assert!(svg.contains(" 490.0,"));
        assert!(svg.contains("ours 99.5"));
    }

    #[test]
    fn an_end_below_all_is_not_written_as_all() {
        let label = |y: f64| {
            let svg = plot(vec![(1.0, 60.0), (10.0, y)]).svg();
            let at = svg.find(">ours ").unwrap();
            svg[at + 6..].split('<').next().unwrap().to_owned()
        };
        assert_eq!(label(100.0), "100");
        assert_eq!(label(99.951), "99.95");
        assert_eq!(label(99.9996), "99.9996");
        assert_eq!(label(99.999_999_9), "below 100");
        assert_eq!(label(97.2), "97.2");
    }

    #[test]
    fn a_line_that_ends_on_the_axis_is_named_without_a_value() {
        let svg = plot(vec![(1.0, 60.0), (10.0, 0.0)]).svg();
        assert!(svg.contains(">ours</text>"));
    }

    #[test]
    fn a_plot_without_points_is_drawn() {
        assert!(plot(Vec::new()).svg().ends_with("</svg>\n"));
    }
}
