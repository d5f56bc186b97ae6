//! How much a statement means when its names are written out.
//!
//! Planners put the meaning of a name where the name stands: the text of a WITH for each mention of it, and the
//! expression of a column for each use of the column. Doubled a few dozen times, a short text means more than any
//! machine holds. The walk notes what names what; the sum is made when it is over, because SQLite and recursive lists
//! may name what only follows.

use std::{collections::HashMap, ops::Range, rc::Rc};

/// The names of WITH in one statement.
pub(super) const MAX_CTES: usize = 100;
/// Tables that a statement may read, each mention of a WITH counted as all that it stands for.
const MAX_TABLES: u64 = 500;
/// Parts of expressions that the columns of subqueries may stand for, beyond what is written.
const MAX_PARTS: u64 = 20_000;

/// A bound that a statement does not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    /// More than [`MAX_TABLES`].
    Tables,
    /// More than [`MAX_PARTS`].
    Parts,
    /// More levels than so many.
    Depth(usize),
}

impl TooMuch {
    /// What is wrong, and what to write instead.
    pub fn message(self) -> String {
        match self {
            Self::Tables => format!(
                "the statement reads more than {MAX_TABLES} tables when each name of its WITH is written out; mention them less often"
            ),
            Self::Depth(max) => format!(
                "a column of its subqueries stands for more than {max} levels of an expression when it is written out; compute it in fewer steps"
            ),
            Self::Parts => format!(
                "the columns of its subqueries stand for more than {MAX_PARTS} parts of expressions when they are written out; use a computed column less often"
            ),
        }
    }
}

/// A query, one SELECT of it, or a name of its WITH.
#[derive(Debug, Default)]
struct Block {
    /// The block around it.
    outer: Option<usize>,
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
    /// Its rows are computed as a whole, so nothing of it is written elsewhere.
    is_barrier: bool,
}

/// What an expression comes to.
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

/// Where an item begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    uses: usize,
    nested: usize,
    parts: u64,
}

/// What the walk has noted so far.
#[derive(Debug, Default)]
pub(super) struct Weights {
    blocks: Vec<Block>,
    open: Vec<usize>,
    ctes: usize,
}

impl Weights {
    /// Begins a query or a SELECT.
    pub fn open(&mut self) {
        let id = self.add(Block {
            outer: self.open.last().copied(),
            ..Block::default()
        });
        self.open.push(id);
    }

    /// Ends it. It counts as a subquery in an expression unless [`Self::is_source`] follows.
    pub fn close(&mut self) {
        if let Some(id) = self.open.pop()
            && let Some(around) = self.current()
        {
            around.nested.push(id);
        }
    }

    /// The block that was closed last gives its columns to the one around it, under other names if `is_renamed`. `alias`
    /// is what its whole row is called.
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

    /// A mention of a name in FROM.
    pub fn mention(&mut self, name: usize) {
        if let Some(block) = self.current() {
            block.sources.push((name, None));
        }
    }

    /// A table of the engine in FROM.
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

    /// A column in an expression.
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

    /// The rows here are computed as a whole.
    pub fn is_barrier(&mut self) {
        if let Some(block) = self.current() {
            block.is_barrier = true;
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

    /// Looks whether the statement keeps the bounds; `max_depth` is that of the dialect.
    pub fn check(&self, max_depth: usize) -> Result<(), TooMuch> {
        let mut sums = Sums {
            blocks: &self.blocks,
            known: vec![None; self.blocks.len()],
        };
        for id in 0..self.blocks.len() {
            let weight = sums.of(id);
            if weight.tables > MAX_TABLES {
                return Err(TooMuch::Tables);
            }
            if weight.largest().depth > max_depth as u64 {
                return Err(TooMuch::Depth(max_depth));
            }
            if weight.excess > MAX_PARTS {
                return Err(TooMuch::Parts);
            }
        }
        Ok(())
    }
}

/// What a block comes to, written out.
#[derive(Clone, Debug)]
struct Weight {
    tables: u64,
    /// Parts beyond those that are written in the block.
    excess: u64,
    /// Those of them that are not of its columns, which are written where the columns are used.
    kept: u64,
    parts: u64,
    columns: HashMap<String, Size>,
    /// The largest column without a name.
    unnamed: Size,
}

impl Weight {
    /// Of a name within its own definition, and of a table.
    fn least() -> Self {
        Self {
            tables: 1,
            excess: 0,
            kept: 0,
            parts: 0,
            columns: HashMap::new(),
            unnamed: Size::LEAST,
        }
    }

    /// All columns together.
    fn row(&self) -> Size {
        let add = |row: Size, column: &Size| Size {
            parts: row.parts.saturating_add(column.parts),
            depth: row.depth.max(column.depth),
        };
        self.columns.values().fold(self.unnamed, add)
    }

    fn largest(&self) -> Size {
        self.columns.values().copied().fold(self.unnamed, Size::max)
    }

    fn add_column(&mut self, name: Option<&str>, size: Size) {
        match name {
            None => self.unnamed = self.unnamed.max(size),
            Some(name) => match self.columns.get_mut(name) {
                Some(known) => *known = size.max(*known),
                None => drop(self.columns.insert(name.to_owned(), size)),
            },
        }
    }
}

struct Sums<'a> {
    blocks: &'a [Block],
    /// `Some(None)` while it is being worked out.
    known: Vec<Option<Option<Rc<Weight>>>>,
}

impl Sums<'_> {
    fn of(&mut self, id: usize) -> Rc<Weight> {
        match self.known.get(id) {
            Some(Some(Some(weight))) => return Rc::clone(weight),
            // A recursive WITH names itself.
            Some(Some(None)) | None => return Rc::new(Weight::least()),
            Some(None) => {}
        }
        self.known[id] = Some(None);
        let blocks = self.blocks;
        let weight = Rc::new(self.sum(&blocks[id]));
        self.known[id] = Some(Some(Rc::clone(&weight)));
        weight
    }

    fn sum(&mut self, block: &Block) -> Weight {
        let mut sum = Weight {
            tables: block.tables,
            parts: block.parts,
            ..Weight::least()
        };
        for (id, _) in &block.sources {
            let inner = self.of(*id);
            sum.tables = sum.tables.saturating_add(inner.tables);
            sum.kept = sum.kept.saturating_add(inner.kept);
        }
        for id in &block.nested {
            sum.tables = sum.tables.saturating_add(self.of(*id).tables);
        }
        let uses: Vec<Size> = block
            .uses
            .iter()
            .map(|name| self.size(block, name))
            .collect();
        let mut columns = 0_u64;
        for item in &block.items {
            columns = columns.saturating_add(self.excess(block, &item.uses, &item.nested, &uses));
        }
        let all = self.excess(block, &(0..uses.len()), &(0..block.nested.len()), &uses);
        sum.excess = sum.kept.saturating_add(all);
        sum.kept = match block.is_barrier {
            true => sum.excess,
            false => sum.excess.saturating_sub(columns),
        };
        if block.is_barrier {
            return sum;
        }
        for item in &block.items {
            let size = self.item(block, item, &uses);
            sum.add_column(item.name.as_deref(), size);
        }
        if block.passes_all || block.is_renamed {
            for (id, _) in &block.sources {
                let inner = self.of(*id);
                sum.add_column(None, inner.unnamed);
                for (name, size) in &inner.columns {
                    sum.add_column(Some(name), *size);
                }
            }
        }
        if block.is_renamed {
            sum.unnamed = sum.largest();
            sum.columns.clear();
        }
        sum
    }

    /// Parts beyond what is written of some of a block's uses of columns and subqueries in expressions.
    fn excess(
        &mut self,
        block: &Block,
        uses: &Range<usize>,
        nested: &Range<usize>,
        sizes: &[Size],
    ) -> u64 {
        let uses = sizes.get(uses.clone()).unwrap_or_default();
        let uses = uses.iter().map(|size| size.parts - 1);
        let mut excess = uses.fold(0, u64::saturating_add);
        for id in block.nested.get(nested.clone()).unwrap_or_default() {
            excess = excess.saturating_add(self.of(*id).excess);
        }
        excess
    }

    /// A column of a block, whose uses of columns stand for so much.
    fn item(&mut self, block: &Block, item: &Item, sizes: &[Size]) -> Size {
        let mut size = item.size.max(Size::LEAST);
        for id in block.nested.get(item.nested.clone()).unwrap_or_default() {
            size.parts = size.parts.saturating_add(self.of(*id).parts);
        }
        let excess = self.excess(block, &item.uses, &item.nested, sizes);
        let below = sizes.get(item.uses.clone()).unwrap_or_default();
        let below = below.iter().map(|size| size.depth - 1).max();
        Size {
            parts: size.parts.saturating_add(excess),
            depth: size.depth.saturating_add(below.unwrap_or_default()),
        }
    }

    /// What a column stands for: its own source is not looked for, the largest of the name counts.
    fn size(&mut self, block: &Block, name: &str) -> Size {
        let blocks = self.blocks;
        let mut size = Size::LEAST;
        let mut around = Some(block);
        while let Some(block) = around {
            for (id, alias) in &block.sources {
                let source = self.of(*id);
                let column = source.columns.get(name).copied();
                size = size.max(match alias.as_deref() == Some(name) {
                    true => source.row(),
                    false => column.unwrap_or(source.unnamed),
                });
            }
            around = block.outer.and_then(|outer| blocks.get(outer));
        }
        size
    }
}
