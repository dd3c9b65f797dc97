//! Tables by names that are given one after another.
//!
//! Rules: a name is entered once, and each is larger than those before. Nearly all exchanges, streams and calls are over
//! soon: while they are new they lie in a short list, where a few comparisons cost less than a place in a tree. What stays
//! goes to a tree, so that no cost is more than logarithmic.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// How many are new at most.
const MAX_YOUNG: usize = 8;

#[derive(Debug)]
pub(super) struct Table<K, V> {
    /// The largest names, in order.
    young: Vec<(K, V)>,
    old: BTreeMap<K, V>,
}

impl<K, V> Table<K, V> {
    pub(super) const fn new() -> Self {
        Self { young: Vec::new(), old: BTreeMap::new() }
    }
}

impl<K: Copy + Ord, V> Table<K, V> {
    /// Enters what has the largest name so far.
    pub(super) fn insert(&mut self, name: K, value: V) {
        if self.young.len() >= MAX_YOUNG {
            self.old.extend(self.young.drain(..MAX_YOUNG / 2));
        }
        self.young.push((name, value));
    }

    fn place(&self, name: &K) -> Option<usize> {
        // The last one is asked for most.
        self.young.iter().rposition(|(known, _)| known == name)
    }

    pub(super) fn get(&self, name: &K) -> Option<&V> {
        match self.place(name) {
            Some(place) => self.young.get(place).map(|(_, value)| value),
            None => self.old.get(name),
        }
    }

    pub(super) fn get_mut(&mut self, name: &K) -> Option<&mut V> {
        match self.place(name) {
            Some(place) => self.young.get_mut(place).map(|(_, value)| value),
            None => self.old.get_mut(name),
        }
    }

    pub(super) fn remove(&mut self, name: &K) -> Option<V> {
        match self.place(name) {
            Some(place) => Some(self.young.remove(place).1),
            None => self.old.remove(name),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All names, the smallest first.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.old.keys().chain(self.young.iter().map(|(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn it_is_as_good_as_a_tree() {
        let (mut table, mut tree) = (Table::new(), BTreeMap::new());
        for name in 0_u64..200 {
            table.insert(name, name * 2);
            tree.insert(name, name * 2);
            // Some go at once, some later, a few stay.
            for gone in [name, name.saturating_sub(3), name.saturating_sub(50)] {
                if (gone * 7 + name) % 3 == 0 {
                    assert_eq!(table.remove(&gone), tree.remove(&gone));
                }
            }
            for known in 0..=name + 1 {
                assert_eq!(table.get(&known), tree.get(&known));
                assert_eq!(table.get_mut(&known), tree.get_mut(&known));
            }
            assert_eq!(table.keys().collect::<Vec<_>>(), tree.keys().collect::<Vec<_>>());
            assert_eq!((table.len(), table.is_empty()), (tree.len(), tree.is_empty()));
        }
    }
}
