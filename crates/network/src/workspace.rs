//! Buffers that outlive a call, so that running a network allocates nothing in the long run.

use std::sync::Mutex;

/// A thread's buffers.
#[derive(Debug, Default)]
pub(crate) struct Workspace<T> {
    free: Vec<Vec<T>>,
    pub scratch: Vec<T>,
}

impl<T: Copy + Default> Workspace<T> {
    /// A buffer of this length with arbitrary contents.
    pub fn take(&mut self, length: usize) -> Vec<T> {
        let fitting = (0..self.free.len())
            .filter(|&i| self.free[i].capacity() >= length)
            .min_by_key(|&i| self.free[i].capacity());
        let mut buffer = match fitting {
            Some(i) => self.free.swap_remove(i),
            None => self.free.pop().unwrap_or_default(),
        };
        if buffer.len() < length {
            buffer.resize(length, T::default());
        } else {
            buffer.truncate(length);
        }
        buffer
    }

    /// A buffer of zeros.
    pub fn zeros(&mut self, length: usize) -> Vec<T> {
        let mut buffer = self.take(length);
        buffer.fill(T::default());
        buffer
    }

    /// Gives a buffer back.
    pub fn give(&mut self, buffer: Vec<T>) {
        self.free.push(buffer);
    }
}

/// The workspaces of one call, handed from chunk to chunk.
#[derive(Debug, Default)]
pub(crate) struct Workspaces<T>(Mutex<Vec<Workspace<T>>>);

impl<T: Copy + Default> Workspaces<T> {
    /// Runs with a workspace that nobody else has.
    pub fn with<R>(&self, run: impl FnOnce(&mut Workspace<T>) -> R) -> R {
        let mut workspace = self.lock().pop().unwrap_or_default();
        let result = run(&mut workspace);
        self.lock().push(workspace);
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Workspace<T>>> {
        // A panic elsewhere leaves spare buffers, which are as good as before.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
