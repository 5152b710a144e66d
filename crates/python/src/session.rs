//! A run under way, for Python: it works on threads of its own, and Python takes its events one by one.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use deepconcolic::{Cancel, Event, Job, OnDamage, Resumption, Session as Run};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::errors::Failure;
use crate::events::for_python;
use crate::filter::{self, Raised};
use crate::model::Model;
use crate::work::guarded;

/// What the working thread says.
enum Message {
    /// Something happened.
    Event(Event),
    /// It ended, with its summary as JSON or without.
    Ended(Result<String, Failure>),
}

/// A run under way.
#[pyclass(frozen)]
pub struct Session {
    messages: Mutex<Receiver<Message>>,
    cancel: Cancel,
}

/// What Python is told next: a name with fields.
type Told<'py> = (&'static str, Bound<'py, PyDict>);

#[pymethods]
impl Session {
    /// Begins at once, in a folder that is new, or goes on with the run in one.
    #[new]
    #[pyo3(signature = (job, model, folder, resume=false, x=None, labels=None, quantities=None, threads=0, valid=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one call")]
    fn new(
        py: Python<'_>,
        job: &str,
        model: &Model,
        folder: PathBuf,
        resume: bool,
        x: Option<&Bound<'_, PyAny>>,
        labels: Option<Vec<i64>>,
        quantities: Option<Vec<f64>>,
        threads: usize,
        valid: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let raise = |failure: Failure| failure.exception(py);
        let mut job: Job = serde_json::from_str(job).map_err(|e| raise(e.into()))?;
        job.model = model.settings.clone();
        if let Some(x) = x {
            job.data.content = Some(arrays::dataset(x, labels, quantities).map_err(raise)?);
        }
        let cancel = Cancel::default();
        let raised = Raised::default();
        job.filter =
            valid.map(|function| filter::of(function, cancel.clone(), Arc::clone(&raised)));
        let begun = Begun {
            how: if resume {
                How::Resume(job)
            } else {
                How::Create(job)
            },
            folder,
            cancel,
            raised,
        };
        Ok(begun.start(threads))
    }

    /// Goes on with the run in a folder, with what the folder says of everything that decides it.
    #[staticmethod]
    #[pyo3(signature = (folder, budget=None, max_executions=None, model=None, threads=0))]
    fn reopen(
        folder: PathBuf,
        budget: Option<f64>,
        max_executions: Option<usize>,
        model: Option<PathBuf>,
        threads: usize,
    ) -> Self {
        let more = Resumption {
            budget,
            max_executions,
            model,
            command: vec!["deepconcolic.resume (Python)".to_owned()],
            ..Resumption::default()
        };
        let begun = Begun {
            how: How::Reopen(more),
            folder,
            cancel: Cancel::default(),
            raised: Raised::default(),
        };
        begun.start(threads)
    }

    /// What happened next, waiting so many seconds for it: a name and fields. `Ended` is the last, with the summary.
    /// None if nothing happened in that time.
    fn next<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Option<Told<'py>>> {
        let patience = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let message = py.detach(|| {
            let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
            messages.recv_timeout(patience)
        });
        match message {
            Ok(Message::Event(event)) => match for_python(py, &event)? {
                Some(told) => Ok(Some(told)),
                None => Ok(None),
            },
            Ok(Message::Ended(Ok(summary))) => {
                let fields = PyDict::new(py);
                fields.set_item("summary", summary)?;
                Ok(Some(("Ended", fields)))
            }
            Ok(Message::Ended(Err(failure))) => Err(failure.exception(py)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Failure::usage("the session has ended").exception(py))
            }
        }
    }

    /// Asks for an end at the next chance; what is done so far is kept.
    fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Drop for Session {
    /// A session that nobody can ask any more need not go on.
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Whether a run is new.
enum How {
    Create(Job),
    Resume(Job),
    Reopen(Resumption),
}

/// A run that is about to begin.
struct Begun {
    how: How,
    folder: PathBuf,
    cancel: Cancel,
    raised: Raised,
}

impl Begun {
    /// Begins, on threads of its own.
    fn start(self, threads: usize) -> Session {
        let (tell, messages) = channel();
        let cancel = self.cancel.clone();
        thread::spawn(move || {
            let ended = guarded(threads, || self.run(&tell));
            // Whoever dropped the session does not want to know.
            let _ = tell.send(Message::Ended(ended));
        });
        Session {
            messages: Mutex::new(messages),
            cancel,
        }
    }

    fn run(self, tell: &Sender<Message>) -> Result<String, Failure> {
        let mut listen = |event: Event| {
            let _ = tell.send(Message::Event(event));
        };
        let (folder, cancel) = (&self.folder, &self.cancel);
        let mut session = match self.how {
            How::Create(job) => Run::create(job, folder, cancel, &mut listen)?,
            How::Resume(job) => Run::resume(job, folder, OnDamage::Refuse, cancel, &mut listen)?,
            How::Reopen(more) => Run::reopen(folder, &more, cancel, &mut listen)?,
        };
        session.run(&mut listen)?;
        let summary = session.save()?;
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match raised.take() {
            Some(error) => Err(Failure::raised(error)),
            None => Ok(serde_json::to_string(&summary)?),
        }
    }
}
