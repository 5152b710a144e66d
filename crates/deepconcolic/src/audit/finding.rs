//! What an audit says: what differs, what was found to hold, and what it could not verify.

use std::fmt;

use serde::Serialize;

use super::left_out::LeftOut;
use super::other_files::OtherFiles;

/// Something that a file says and that is not so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, by its name in the folder.
    pub file: String,
    /// Which part of it.
    pub field: String,
    /// What it says.
    pub claimed: String,
    /// What is so.
    pub found: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            field,
            claimed,
            found,
        } = self;
        write!(f, "{file}: {field}: claimed {claimed}, found {found}")
    }
}

/// What came of an audit.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunFindings {
    /// What was checked: the scope, from what was used.
    pub scope: Vec<String>,
    /// What was done, and what came of it.
    pub done: Vec<String>,
    /// What differs.
    pub findings: Vec<Finding>,
    /// What is taken as the folder says it.
    pub unverified: Vec<String>,
    /// What there was no time to check.
    pub left_out: Vec<LeftOut>,
    /// Files of the folder that are not looked at.
    pub other_files: OtherFiles,
}

impl RunFindings {
    /// Enters what differs.
    pub fn differs(
        &mut self,
        file: &str,
        field: impl fmt::Display,
        claimed: impl fmt::Display,
        found: impl fmt::Display,
    ) {
        self.findings.push(Finding {
            file: file.to_owned(),
            field: field.to_string(),
            claimed: claimed.to_string(),
            found: found.to_string(),
        });
    }

    /// Enters two values unless they are the same.
    pub fn compare<T: PartialEq + fmt::Display>(
        &mut self,
        file: &str,
        field: impl fmt::Display,
        claimed: T,
        found: T,
    ) {
        if claimed != found {
            self.differs(file, field, claimed, found);
        }
    }

    /// Whether everything was checked and holds.
    pub fn holds(&self) -> bool {
        self.findings.is_empty() && self.left_out.is_empty()
    }
}
