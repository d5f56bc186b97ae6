//! The weight of a statement: its size after the planner has inlined every name.
//!
//! Planners inline a WITH at each mention, and the expression of a column at each use. A few dozen doublings exceed any
//! memory. The walk records which names refer to which; the sum follows at the end, because SQLite and recursive WITH
//! lists allow forward references.

mod sums;

use std::ops::Range;

/// WITH names per statement.
pub(super) const MAX_CTES: usize = 100;
/// Tables that a statement may read, with every WITH inlined.
const MAX_TABLES: u64 = 500;
/// Nodes that inlined columns of subqueries may add.
const MAX_PARTS: u64 = 20_000;

/// Which limit a statement exceeds, for its error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitExceeded {
    /// More than [`MAX_TABLES`] as the statement is written.
    Sources,
    /// More than [`MAX_TABLES`] with its names inlined.
    Tables,
    /// More inherited columns of subqueries than the sum counts.
    Columns,
    /// More than [`MAX_PARTS`].
    Parts,
    /// More than this many levels.
    Depth(usize),
}

impl LimitExceeded {
    /// The message: what is wrong, and what to write instead.
    pub fn message(self) -> String {
        match self {
            Self::Sources => format!(
                "the statement names more than {MAX_TABLES} tables; read fewer, or in several statements"
            ),
            Self::Columns => "the subqueries of the statement hand on too many columns; name the columns that you need in place of *".to_owned(),
            Self::Tables => format!(
                "the statement reads more than {MAX_TABLES} tables when each name of its WITH is written out; mention them less often"
            ),
            Self::Depth(max) => format!(
                "a column stands for more than {max} levels of an expression when it is written out; compute it in fewer steps, or put a long chain into brackets piece by piece"
            ),
            Self::Parts => format!(
                "the columns of its subqueries stand for more than {MAX_PARTS} parts of expressions when they are written out; use a computed column less often"
            ),
        }
    }
}

/// A query, one of its SELECTs, or a name of its WITH.
#[derive(Debug, Default)]
struct Block {
    /// The enclosing block.
    outer: Option<usize>,
    /// Sources of the enclosing block before this one, which are the visible ones in FROM.
    outer_sources: usize,
    /// Tables of the engine that it reads itself.
    tables: u64,
    /// Blocks whose columns it sees, with the names that their whole rows have.
    sources: Vec<(usize, Option<String>)>,
    /// Subqueries in its expressions.
    nested: Vec<usize>,
    /// Columns that its expressions name.
    uses: Vec<String>,
    /// Nodes of its expressions.
    parts: u64,
    /// How deep they stand in each other since the last item began.
    depth: u64,
    items: Vec<Item>,
    /// Its columns are also those of its sources.
    passes_all: bool,
    /// Its columns have other names than its items, so any of them may be the largest.
    is_renamed: bool,
    /// Its rows are materialized, so nothing of it is inlined.
    is_barrier: bool,
    /// Its input is materialized; its own expressions may be inlined.
    is_grouped: bool,
}

/// How large an expression is when its columns are inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    parts: u64,
    depth: u64,
}

impl Size {
    /// A column of a table.
    const LEAST: Self = Self { parts: 1, depth: 1 };

    fn max(self, other: Self) -> Self {
        Self {
            parts: self.parts.max(other.parts),
            depth: self.depth.max(other.depth),
        }
    }
}

/// One column of a SELECT.
#[derive(Debug)]
struct Item {
    name: Option<String>,
    size: Size,
    uses: Range<usize>,
    nested: Range<usize>,
}

/// The start of an item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    uses: usize,
    nested: usize,
    parts: u64,
}

/// The records of the walk.
#[derive(Debug, Default)]
pub(super) struct Weights {
    blocks: Vec<Block>,
    open: Vec<usize>,
    ctes: usize,
    sources: u64,
}

impl Weights {
    /// Opens the block of a query or a SELECT.
    pub fn open(&mut self) {
        let outer = self.open.last().copied();
        let around = outer.and_then(|outer| self.blocks.get(outer));
        let id = self.add(Block {
            outer,
            outer_sources: around.map_or(0, |around| around.sources.len()),
            ..Block::default()
        });
        self.open.push(id);
    }

    /// Closes the block. It counts as a subquery in an expression unless [`Self::is_source`] follows.
    pub fn close(&mut self) {
        if let Some(id) = self.open.pop()
            && let Some(around) = self.current()
        {
            around.nested.push(id);
        }
    }

    /// The block that was closed last gives its columns to the one around it, under other names if `is_renamed`.
    /// `alias` is what its whole row is called.
    pub fn is_source(&mut self, alias: Option<String>, is_renamed: bool) {
        let Some(id) = self.current().and_then(|block| block.nested.pop()) else {
            return;
        };
        if let Some(block) = self.blocks.get_mut(id) {
            block.is_renamed |= is_renamed;
        }
        if let Some(block) = self.current() {
            block.sources.push((id, alias));
        }
    }

    /// A name of a WITH, to be [defined](Self::define). `None` when there are too many.
    pub fn name(&mut self) -> Option<usize> {
        self.ctes += 1;
        (self.ctes <= MAX_CTES).then(|| {
            self.add(Block {
                passes_all: true,
                ..Block::default()
            })
        })
    }

    /// The block that was closed last is what a name stands for.
    pub fn define(&mut self, name: usize, is_renamed: bool) {
        let body = self.current().and_then(|block| block.nested.pop());
        if let Some(block) = self.blocks.get_mut(name) {
            block.sources.extend(body.map(|body| (body, None)));
            block.is_renamed = is_renamed;
        }
    }

    /// Something in FROM that is about to be looked at. Refused before the work for it begins: later steps compare
    /// columns with all that stands in FROM.
    pub fn source(&mut self) -> Result<(), LimitExceeded> {
        self.sources += 1;
        match self.sources <= MAX_TABLES {
            true => Ok(()),
            false => Err(LimitExceeded::Sources),
        }
    }

    /// FROM mentions the WITH name with this index.
    pub fn mention(&mut self, name: usize) {
        if let Some(block) = self.current() {
            block.sources.push((name, None));
        }
    }

    /// FROM has a table of the engine.
    pub fn table(&mut self) {
        if let Some(block) = self.current() {
            block.tables += 1;
        }
    }

    /// A node of an expression, so many others around it.
    pub fn part(&mut self, depth: usize) {
        if let Some(block) = self.current() {
            block.parts += 1;
            block.depth = block.depth.max(depth as u64);
        }
    }

    /// An expression names this column.
    pub fn column(&mut self, name: String) {
        if let Some(block) = self.current() {
            block.uses.push(name);
        }
    }

    /// The columns of the sources are also columns here.
    pub fn passes_all(&mut self) {
        if let Some(block) = self.current() {
            block.passes_all = true;
        }
    }

    /// The columns here may be any of the sources'.
    pub fn is_renamed(&mut self) {
        if let Some(block) = self.current() {
            block.is_renamed = true;
        }
    }

    /// The rows of this block are materialized.
    pub fn is_barrier(&mut self) {
        if let Some(block) = self.current() {
            block.is_barrier = true;
        }
    }

    /// The rows of this block are groups.
    pub fn is_grouped(&mut self) {
        if let Some(block) = self.current() {
            block.is_grouped = true;
        }
    }

    /// Where the next item begins.
    pub fn mark(&mut self) -> Mark {
        let mut mark = Mark::default();
        if let Some(block) = self.current() {
            block.depth = 0;
            mark = Mark {
                uses: block.uses.len(),
                nested: block.nested.len(),
                parts: block.parts,
            };
        }
        mark
    }

    /// A column of the SELECT, of what came since the mark.
    pub fn item(&mut self, name: Option<String>, since: Mark) {
        if let Some(block) = self.current() {
            block.items.push(Item {
                name,
                size: Size {
                    parts: block.parts - since.parts,
                    depth: block.depth,
                },
                uses: since.uses..block.uses.len(),
                nested: since.nested..block.nested.len(),
            });
        }
    }

    fn add(&mut self, block: Block) -> usize {
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    fn current(&mut self) -> Option<&mut Block> {
        let id = *self.open.last()?;
        self.blocks.get_mut(id)
    }

    /// Checks the limits; `max_depth` is that of the dialect.
    pub fn check(&self, max_depth: usize) -> Result<(), LimitExceeded> {
        sums::check(&self.blocks, max_depth)
    }
}
