//! A line that lives: on a terminal, what is being done, with the time it has taken so far. It is drawn by a thread of its
//! own, so that it moves whatever the work is at. Elsewhere there is none.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two drawings, and before the first: what is done by then needs no line.
const FRAME: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_millis(300);
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The line, as long as this lives.
pub struct Busy {
    text: Arc<Mutex<(String, Option<Duration>)>>,
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Busy {
    /// Says what is being done, if standard error is a terminal.
    pub fn with(text: impl Into<String>) -> Self {
        let text = Arc::new(Mutex::new((text.into(), None)));
        let drawing = std::io::stderr().is_terminal().then(|| {
            let (end, ended) = channel();
            let shared = Arc::clone(&text);
            let thread = thread::spawn(move || {
                let started = Instant::now();
                let mut pause = PATIENCE;
                for frame in 0.. {
                    match ended.recv_timeout(pause) {
                        Err(RecvTimeoutError::Timeout) => {}
                        _ => break,
                    }
                    pause = FRAME;
                    let said = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    let (text, whole) = said.clone();
                    drop(said);
                    let whole = whole.map(|whole| format!(" of {}", clock(whole)));
                    let whole = whole.unwrap_or_default();
                    let spin = SPINNER[frame % SPINNER.len()];
                    // The time comes first: what does not fit is cut at the end.
                    let elapsed = clock(started.elapsed());
                    draw(&format!("{spin} {elapsed}{whole} {text}"));
                }
                draw("");
            });
            (end, thread)
        });
        Self { text, drawing }
    }

    /// Whether there is a terminal to draw on.
    pub fn is_drawn(&self) -> bool {
        self.drawing.is_some()
    }

    /// Says something else from now on, and how much time there is in all, if that is known.
    pub fn say(&self, text: String, whole: Option<Duration>) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = (text, whole);
    }

    /// Clears the line and ends it.
    pub fn end(&mut self) {
        if let Some((end, thread)) = self.drawing.take() {
            drop(end);
            // A drawing that failed is no reason to stop.
            let _ = thread.join();
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end();
    }
}

/// Draws over the line; what does not fit would wrap and stay.
fn draw(line: &str) {
    // Some terminals wrap as soon as the last column is written.
    let columns = columns().saturating_sub(1);
    let fitting: String = line.chars().take(columns).collect();
    let mut err = std::io::stderr().lock();
    // A closed standard error is no reason to stop.
    let _ = write!(err, "\r\x1b[2K{fitting}").and_then(|()| err.flush());
}

/// Columns of the terminal that standard error is; narrow where that cannot be known.
fn columns() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(80, |(terminal_size::Width(columns), _)| columns.into())
}

/// Minutes and seconds.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_count_minutes_and_hours() {
        assert_eq!(clock(Duration::from_secs(7)), "0:07");
        assert_eq!(clock(Duration::from_secs(605)), "10:05");
        assert_eq!(clock(Duration::from_secs(3661)), "1:01:01");
    }

    #[test]
    fn a_line_ends_whatever_was_said() {
        let mut busy = Busy::with("working");
        busy.say("still working".into(), None);
        busy.end();
        assert!(!busy.is_drawn());
    }
}
