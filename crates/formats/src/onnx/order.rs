//! An order in which nodes can be executed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Orders nodes after everything they depend on; `dependencies[i]` are the nodes whose
/// results node `i` reads. The error is a node on a cycle.
///
/// ONNX requires files to be in such an order already, and then it is kept: among the
/// nodes that could come next, the first in the file does. Nothing here recurses, so
/// a chain of a million nodes needs no stack.
pub(super) fn executable(dependencies: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    let mut waiting_for: Vec<usize> = dependencies.iter().map(Vec::len).collect();
    let mut readers = vec![Vec::new(); dependencies.len()];
    for (node, reads) in dependencies.iter().enumerate() {
        for &dependency in reads {
            readers[dependency].push(node);
        }
    }
    let is_ready = |node: &usize| dependencies[*node].is_empty();
    let mut ready: BinaryHeap<_> = (0..dependencies.len())
        .filter(is_ready)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(dependencies.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &reader in &readers[node] {
            waiting_for[reader] -= 1;
            if waiting_for[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    match waiting_for.iter().position(|&count| count > 0) {
        None => Ok(order),
        Some(stuck) => Err(on_cycle(stuck, dependencies, &waiting_for)),
    }
}

/// A stuck node waits for a stuck node; following that long enough ends on a cycle,
/// though the first node need not be on it.
fn on_cycle(mut node: usize, dependencies: &[Vec<usize>], waiting_for: &[usize]) -> usize {
    let mut seen = vec![false; dependencies.len()];
    while !seen[node] {
        seen[node] = true;
        let stuck = dependencies[node].iter().find(|&&dep| waiting_for[dep] > 0);
        node = stuck.copied().unwrap_or(node);
    }
    node
}

#[cfg(test)]
mod tests {
    use super::executable;

    #[test]
    fn an_executable_order_is_kept() {
        let dependencies = [vec![], vec![], vec![0], vec![1, 2], vec![0, 0]];
        assert_eq!(executable(&dependencies), Ok(vec![0, 1, 2, 3, 4]));
    }

    #[test]
    fn other_orders_are_mended_with_as_little_change_as_needed() {
        let dependencies = [vec![2], vec![], vec![1], vec![]];
        assert_eq!(executable(&dependencies), Ok(vec![1, 2, 0, 3]));
    }

    #[test]
    fn a_cycle_is_told_by_one_of_its_nodes() {
        assert_eq!(executable(&[vec![], vec![1]]), Err(1));
        // 0 waits for the cycle 1 -> 3 -> 1 without being on it.
        let dependencies = [vec![1], vec![3], vec![], vec![2, 1]];
        let node = executable(&dependencies).unwrap_err();
        assert!(node == 1 || node == 3, "{node}");
    }

    #[test]
    fn long_chains_need_no_stack() {
        let length = 1_000_000;
        let backwards: Vec<_> = (0..length)
            .map(|i| if i + 1 < length { vec![i + 1] } else { vec![] })
            .collect();
        let order = executable(&backwards).unwrap();
        assert!(order.into_iter().eq((0..length).rev()));
    }
}
