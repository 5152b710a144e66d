//! The ways in which one input can meet a formula: each a few comparisons that all hold.

use deepconcolic_language::Inputs;

use crate::atom::Atom;
use crate::goal::Reason;
use crate::task::Task;
use crate::tree::Tree;

/// Most ways of a formula: a network of a thousand classes has as many.
const MAX: usize = 4096;

/// Comparisons that all hold.
pub(crate) type Way = Vec<Atom>;

/// The ways in which one input meets what is asked, or why they are not listed.
pub(crate) fn ways(task: &Task<'_>) -> Result<Vec<Way>, Reason> {
    if task.inputs != Inputs::One {
        return Err(Reason::Objective {
            asked: "two inputs",
            takes: "formulas on one",
        });
    }
    listed(&task.tree).ok_or(Reason::Objective {
        asked: "more than a choice between comparisons",
        takes: "comparisons, and choices between a few of them that hold together",
    })
}

fn listed(tree: &Tree) -> Option<Vec<Way>> {
    let ways = match tree {
        Tree::Atom(atom) => vec![vec![atom.clone()]],
        Tree::Any(of) => {
            let parts: Option<Vec<Vec<Way>>> = of.iter().map(listed).collect();
            parts?.concat()
        }
        Tree::All(of) => of.iter().try_fold(vec![Way::new()], |ways, part| {
            let more = listed(part)?;
            let product = ways.len() * more.len();
            (product <= MAX).then(|| {
                let joined =
                    |way: &Way| more.iter().map(|m| [way.as_slice(), m].concat()).collect();
                ways.iter().flat_map::<Vec<Way>, _>(joined).collect()
            })
        })?,
        Tree::AtLeast(..) | Tree::Same(_) | Tree::Within(..) | Tree::Near(_) | Tree::Check(_) => {
            return None;
        }
    };
    (ways.len() <= MAX).then_some(ways)
}
