//! A histogram of distances, with the radius marked.

use maud::{Markup, html};

use super::frame::Frame;
use crate::html::number::{At, count, short, ticks, whole_ticks};

const BINS: usize = 24;
const FRAME: Frame = Frame {
    left: 46.0,
    top: 22.0,
    width: 450.0,
    height: 170.0,
};

/// Draws how many distances lie where; the radius is marked if there is one.
pub fn histogram(distances: &[f64], radius: Option<f64>, axis: &str) -> Markup {
    let (counts, end) = bins(distances, radius);
    let top = counts.iter().copied().max().unwrap_or(0).max(1);
    let up: Vec<(f64, String)> = whole_ticks(top as f64)
        .into_iter()
        .map(|tick| (tick / top as f64, count(tick as usize)))
        .collect();
    let across: Vec<(f64, String)> = ticks(end)
        .into_iter()
        .map(|tick| (tick / end, short(tick)))
        .collect();
    let width = FRAME.width / BINS as f64;
    html! {
        svg class="plot" viewBox="0 0 520 240" role="img" aria-label="Histogram of distances" {
            (FRAME.vertical(&up))
            @for (bin, &number) in counts.iter().enumerate() {
                @if number > 0 {
                    @let (x, y) = FRAME.place(bin as f64 / BINS as f64, number as f64 / top as f64);
                    rect x=(At(x + 0.5)) y=(At(y)) width=(At(width - 1.0)) height=(At(FRAME.top + FRAME.height - y)) class="bad" {
                        title { (count(number)) " from " (short(bin as f64 / BINS as f64 * end)) " to " (short((bin + 1) as f64 / BINS as f64 * end)) }
                    }
                }
            }
            (FRAME.horizontal(&across, axis))
            @if let Some(radius) = radius {
                @let (x, _) = FRAME.place(radius / end, 0.0);
                line x1=(At(x)) x2=(At(x)) y1=(At(FRAME.top - 6.0)) y2=(At(FRAME.top + FRAME.height)) class="radius" {}
                text x=(At(x - 4.0)) y=(At(FRAME.top - 8.0)) text-anchor="end" class="stage-name" { "radius " (short(radius)) }
            }
        }
    }
}

/// How many distances lie in each of equal parts from 0 to an end that holds all of them.
pub fn bins(distances: &[f64], radius: Option<f64>) -> (Vec<usize>, f64) {
    let finite = || distances.iter().copied().filter(|d| d.is_finite());
    let end = finite().chain(radius).fold(0.0, f64::max);
    let end = if end > 0.0 { end } else { 1.0 };
    let mut counts = vec![0; BINS];
    for distance in finite() {
        let bin = (distance / end * BINS as f64) as usize;
        counts[bin.min(BINS - 1)] += 1;
    }
    (counts, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_distance_is_in_one_bin() {
        let (counts, end) = bins(&[0.0, 0.3, 0.15, f64::NAN], Some(0.3));
        assert_eq!(counts.iter().sum::<usize>(), 3);
        assert_eq!((counts[0], counts[23], end), (1, 1, 0.3));
        assert!((bins(&[], None).1 - 1.0).abs() < f64::EPSILON);
    }
}
