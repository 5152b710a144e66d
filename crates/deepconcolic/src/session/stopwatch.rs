//! Where the time went.

use std::time::Instant;

use deepconcolic_record::Times;

/// Books time on the parts of a run.
pub struct Stopwatch {
    /// When it was started.
    pub started: Instant,
    last: Instant,
    before: f64,
    /// Seconds that the journal knows of.
    told: f64,
    /// The time of each part.
    pub times: Times,
}

impl Stopwatch {
    /// From now on.
    pub fn start() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            last: now,
            before: 0.0,
            told: 0.0,
            times: Times::default(),
        }
    }

    /// Takes in the time of earlier sittings, which is counted as search.
    pub fn carry(&mut self, seconds: f64) {
        self.before = seconds;
        self.told = seconds;
        self.times.ascend += seconds;
    }

    /// Takes in the time of another run.
    pub fn add(&mut self, other: Times) {
        self.before += other.total;
        self.times.measure += other.measure;
        self.times.ascend += other.ascend;
        self.times.symbolic += other.symbolic;
        self.times.prove += other.prove;
        self.times.oracle += other.oracle;
        self.times.controls += other.controls;
    }

    /// Seconds of earlier sittings.
    pub fn before(&self) -> f64 {
        self.before
    }

    /// Seconds so far, over all sittings.
    pub fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }

    /// Seconds that the journal does not know of yet; it is told now.
    pub fn since_told(&mut self) -> f64 {
        let now = self.seconds();
        let before = std::mem::replace(&mut self.told, now);
        (now - before).max(0.0)
    }

    /// Books the time since the last lap.
    pub fn lap(&mut self, of: impl FnOnce(&mut Times) -> &mut f64) {
        let now = Instant::now();
        *of(&mut self.times) += (now - self.last).as_secs_f64();
        self.last = now;
    }
}
