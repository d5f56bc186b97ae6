//! Ways between tables over foreign keys.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::catalog::{Catalog, ColumnRef, Table};
use crate::query::Edge;
use crate::words::split;

/// Steps that lead to a parent at most: longer ways are correct too, but hardly what a person means.
const FARTHEST: usize = 3;

/// Ways that are weighed at most.
const MOST_WAYS: usize = 16;

/// All steps between tables.
pub struct Graph {
    edges: Vec<Edge>,
    tables: usize,
    /// Tables that pair rows of another one with each other.
    paired: Vec<usize>,
    /// Tables that the question names, so that a way over them is meant.
    pub named: Vec<usize>,
}

/// Why there is no single way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWay {
    /// Not connected.
    Apart(usize),
    /// Two ways of the same length.
    Several(usize),
}

/// The key of a pair that the table is named after: in `friend (student_id, friend_id)` the friends of a student are
/// the rows with the student's `student_id`.
fn other_end(table: &Table) -> Option<usize> {
    let [first, second] = table.foreign_keys.as_slice() else {
        return None;
    };
    let head = crate::words::stem(split(&table.name).last()?);
    let named = |columns: &[usize]| match columns {
        [column] => table.columns[*column]
            .name
            .to_lowercase()
            .starts_with(&head),
        _ => false,
    };
    match (named(&first.columns), named(&second.columns)) {
        _ if first.target != second.target => None,
        (true, false) => Some(0),
        (false, true) => Some(1),
        _ => None,
    }
}

impl Graph {
    /// The foreign keys of a catalog.
    pub fn of(catalog: &Catalog) -> Self {
        let mut graph = Self {
            edges: Vec::new(),
            tables: catalog.tables.len(),
            paired: Vec::new(),
            named: Vec::new(),
        };
        for (from, table) in catalog.tables.iter().enumerate() {
            let other_end = other_end(table);
            graph.paired.extend(other_end.map(|_| from));
            for (place, key) in table.foreign_keys.iter().enumerate() {
                if other_end == Some(place) {
                    continue;
                }
                let pairs: Vec<(usize, usize)> = key
                    .columns
                    .iter()
                    .copied()
                    .zip(key.target_columns.iter().copied())
                    .collect();
                graph.add(catalog, from, key.target, pairs, key.guessed);
            }
        }
        graph
    }

    fn add(
        &mut self,
        catalog: &Catalog,
        from: usize,
        to: usize,
        pairs: Vec<(usize, usize)>,
        guessed: bool,
    ) {
        let key = &catalog.table(from).primary_key;
        let own: Vec<usize> = pairs.iter().map(|p| p.0).collect();
        let one_to_one = !key.is_empty() && key.iter().all(|k| own.contains(k));
        let back = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let edge = Edge {
            from,
            to,
            pairs,
            many: false,
            guessed,
        };
        if from == to || self.edges.contains(&edge) {
            return;
        }
        self.edges.push(edge);
        self.edges.push(Edge {
            from: to,
            to: from,
            pairs: back,
            many: !one_to_one,
            guessed,
        });
    }

    /// Keeps of the steps between two tables those over one column.
    pub fn keep_only(&mut self, column: ColumnRef, other: usize) {
        self.edges.retain(|e| match (e.from, e.to) {
            (from, to) if from == column.table && to == other => {
                e.pairs.iter().any(|p| p.0 == column.column)
            }
            (from, to) if from == other && to == column.table => {
                e.pairs.iter().any(|p| p.1 == column.column)
            }
            _ => true,
        });
    }

    /// Whether a table pairs rows of another one with each other.
    pub fn is_paired(&self, table: usize) -> bool {
        self.paired.contains(&table)
    }

    /// Whether two columns hold the same key.
    pub fn same_key(&self, a: ColumnRef, b: ColumnRef) -> bool {
        self.edges.iter().any(|e| {
            e.from == a.table && e.to == b.table && e.pairs.contains(&(a.column, b.column))
        })
    }

    /// Whether these pairs of columns are exactly a key, in whichever direction.
    pub fn is_key(&self, pairs: &[(ColumnRef, ColumnRef)]) -> bool {
        let mut keys = self.edges.iter().filter(|e| !e.guessed);
        keys.any(|e| {
            let is_said = |(a, b): &(usize, usize)| {
                let (a, b) = (ColumnRef::new(e.from, *a), ColumnRef::new(e.to, *b));
                pairs.contains(&(a, b)) || pairs.contains(&(b, a))
            };
            e.pairs.len() == pairs.len() && e.pairs.iter().all(is_said)
        })
    }

    /// Whether a way leads from each row of a table to one row of another.
    pub fn leads(&self, from: usize, to: usize) -> bool {
        let mut reached = vec![from];
        let mut at = 0;
        while let Some(table) = reached.get(at).copied() {
            for edge in self.edges.iter().filter(|e| e.from == table && !e.many) {
                if !reached.contains(&edge.to) {
                    reached.push(edge.to);
                }
            }
            at += 1;
        }
        reached.contains(&to)
    }

    /// Whether each row of a table has one of the other, over one key.
    pub fn belongs(&self, from: usize, to: usize) -> bool {
        let mut keys = self
            .edges
            .iter()
            .filter(|e| e.from == from && e.to == to && !e.many);
        keys.next().is_some() && keys.next().is_none()
    }

    /// Whether one step, or two over a table beside a tree, lead from one table to another.
    pub fn meets(&self, from: usize, to: usize, tree: &[usize]) -> bool {
        let steps = |a: usize, b: usize| self.edges.iter().any(|e| e.from == a && e.to == b);
        let mut between = (0..self.tables).filter(|t| !tree.contains(t));
        steps(from, to) || between.any(|t| steps(from, t) && steps(t, to))
    }

    /// Number of steps between two tables.
    pub fn distance(&self, from: usize, to: usize) -> Option<usize> {
        let distance = self.distances(&[(from, false)]);
        [false, true]
            .iter()
            .filter_map(|up| distance[to][usize::from(*up)])
            .min()
    }

    /// Steps to each table, and whether the last step was up. A way never goes down again after it went up: two rows
    /// that only share a parent have nothing to do with each other.
    fn distances(&self, from: &[(usize, bool)]) -> Vec<[Option<usize>; 2]> {
        let mut distance = vec![[None, None]; self.tables];
        for (start, up) in from {
            distance[*start][usize::from(*up)] = Some(0);
        }
        for step in 0..self.tables {
            for edge in &self.edges {
                let after = usize::from(!edge.many);
                for up in [0, 1] {
                    let turns = up == 1 && edge.many;
                    if distance[edge.from][up] == Some(step)
                        && !turns
                        && distance[edge.to][after].is_none()
                    {
                        distance[edge.to][after] = Some(step + 1);
                    }
                }
            }
        }
        distance
    }

    /// The tables that each row of `base` leads to one row of, with the steps and how many of them may be empty.
    /// Those with several ways of the same length are left out.
    pub fn parents(&self, catalog: &Catalog, base: usize) -> BTreeMap<usize, (usize, usize)> {
        let mut found = BTreeMap::from([(base, (0, 0))]);
        let mut several = Vec::new();
        let mut front = vec![(base, 0)];
        for steps in 1..=FARTHEST {
            let mut next: Vec<(usize, usize)> = Vec::new();
            for (at, gaps) in front {
                for edge in self
                    .edges
                    .iter()
                    .filter(|e| e.from == at && !e.many && !e.guessed)
                {
                    let columns = &catalog.table(at).columns;
                    let is_empty = edge.pairs.iter().any(|p| columns[p.0].nullable);
                    match found.get(&edge.to) {
                        Some((known, _)) if *known < steps => continue,
                        Some(_) => several.push(edge.to),
                        None => next.push((edge.to, gaps + usize::from(is_empty))),
                    }
                    found
                        .entry(edge.to)
                        .or_insert((steps, gaps + usize::from(is_empty)));
                }
            }
            front = next;
        }
        found.retain(|table, _| !several.contains(table));
        found
    }

    /// The steps that connect all `wanted` tables with `base`, nearest first.
    pub fn connect(&self, base: usize, wanted: &[usize]) -> Result<Vec<Edge>, NoWay> {
        let mut tree = vec![(base, false)];
        let mut steps = Vec::new();
        let mut left: Vec<usize> = wanted.iter().copied().filter(|t| *t != base).collect();
        left.sort_unstable();
        left.dedup();
        while !left.is_empty() {
            let distance = self.distances(&tree);
            let near = |t: usize| distance[t].iter().flatten().min().copied();
            // "courses taken by students of a programme": that of the students, though courses lead to one too.
            let waits = |t: usize| {
                let of_wanted = |w: &usize| *w != t && self.belongs(*w, t);
                near(t).is_some_and(|steps| steps > 1) && left.iter().any(of_wanted)
            };
            let Some(nearest) = left
                .iter()
                .copied()
                .filter(|t| near(*t).is_some())
                .min_by_key(|t| (waits(*t), near(*t), *t))
            else {
                return Err(NoWay::Apart(left[0]));
            };
            for edge in self.back(nearest, &distance)? {
                tree.push((edge.to, !edge.many));
                steps.push(edge);
            }
            left.retain(|t| !tree.iter().any(|(n, _)| n == t));
        }
        Ok(steps)
    }

    /// The best of the shortest ways to `to` from where the distance is zero: over more tables that the question names,
    /// then over fewer guessed keys.
    fn back(&self, to: usize, distance: &[[Option<usize>; 2]]) -> Result<Vec<Edge>, NoWay> {
        let nearest = distance[to].iter().flatten().min();
        let ends = [0, 1].map(|state| (to, state));
        let ends = ends
            .iter()
            .filter(|(at, state)| distance[*at][*state].as_ref() == nearest);
        let ways = ends.flat_map(|(at, state)| self.ways(*at, *state, distance));
        let worth = |way: &Vec<Edge>| {
            let named = way.iter().filter(|e| self.named.contains(&e.to)).count();
            (named, Reverse(way.iter().filter(|e| e.guessed).count()))
        };
        let mut ranked: Vec<_> = ways.map(|way| (worth(&way), way)).collect();
        ranked.sort_by_key(|(worth, _)| Reverse(*worth));
        match ranked.as_slice() {
            [(best, _), (other, _), ..] if best == other => Err(NoWay::Several(to)),
            [(_, way), ..] => Ok(way.clone()),
            [] => Err(NoWay::Apart(to)),
        }
    }

    /// The shortest ways to a table, the last step down or up, from where the distance is zero.
    fn ways(&self, to: usize, state: usize, distance: &[[Option<usize>; 2]]) -> Vec<Vec<Edge>> {
        let Some(steps) = distance[to][state].filter(|d| *d > 0) else {
            return vec![Vec::new()];
        };
        let mut ways = Vec::new();
        let is_last = |e: &&Edge| e.to == to && usize::from(!e.many) == state;
        for edge in self.edges.iter().filter(is_last) {
            for before in [0, 1] {
                let turns = before == 1 && edge.many;
                if !turns
                    && distance[edge.from][before] == Some(steps - 1)
                    && ways.len() < MOST_WAYS
                {
                    let mut found = self.ways(edge.from, before, distance);
                    found.iter_mut().for_each(|way| way.push(edge.clone()));
                    ways.append(&mut found);
                }
            }
        }
        ways
    }
}
