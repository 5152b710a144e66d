//! The library as its users see it: jobs, sessions and what they tell, on the models of `testdata`.

mod bed;
mod events;
mod fault_audits;
mod jobs;
mod sessions;
