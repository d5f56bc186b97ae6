//! Sums the weights of a walk: visits each block once, and each column of a source once per block that sees it.

use std::{collections::HashMap, ops::Range, rc::Rc};

use super::{Block, Item, LimitExceeded, MAX_PARTS, MAX_TABLES, Size};

/// Columns that sources hand on to the blocks that name them.
const MAX_PASSED: usize = 1_000_000;

/// Checks the limits of all blocks.
pub(super) fn check(blocks: &[Block], max_depth: usize) -> Result<(), LimitExceeded> {
    let mut sums = Sums {
        blocks,
        known: vec![None; blocks.len()],
        visible: vec![None; blocks.len()],
        passed: 0,
    };
    for id in 0..blocks.len() {
        let weight = sums.of(id)?;
        if weight.tables > MAX_TABLES {
            return Err(LimitExceeded::Tables);
        }
        if weight.columns.largest.depth > max_depth as u64 {
            return Err(LimitExceeded::Depth(max_depth));
        }
        if weight.excess > MAX_PARTS {
            return Err(LimitExceeded::Parts);
        }
    }
    Ok(())
}

/// The weight of a block with its names inlined.
#[derive(Clone, Debug)]
struct Weight<'a> {
    tables: u64,
    /// Parts beyond those that are written in the block.
    excess: u64,
    /// Those of them that are not of its columns, which are written where the columns are used.
    kept: u64,
    parts: u64,
    columns: Rc<Columns<'a>>,
}

impl Weight<'_> {
    /// Of a name within its own definition, and of a table.
    fn least() -> Self {
        Self {
            tables: 1,
            excess: 0,
            kept: 0,
            parts: 0,
            columns: Rc::default(),
        }
    }
}

/// Columns by name, or under which names columns are seen.
#[derive(Clone, Debug)]
struct Columns<'a> {
    named: HashMap<&'a str, Size>,
    /// The largest column without a name.
    unnamed: Size,
    /// The largest of the named and the unnamed ones.
    largest: Size,
}

impl Default for Columns<'_> {
    fn default() -> Self {
        Self {
            named: HashMap::new(),
            unnamed: Size::LEAST,
            largest: Size::LEAST,
        }
    }
}

impl<'a> Columns<'a> {
    fn add(&mut self, name: Option<&'a str>, size: Size) {
        self.largest = self.largest.max(size);
        let known = match name {
            None => &mut self.unnamed,
            Some(name) => self.named.entry(name).or_insert(Size::LEAST),
        };
        *known = Size::max(*known, size);
    }

    /// All columns together.
    fn row(&self) -> Size {
        let add = |row: Size, column: &Size| Size {
            parts: row.parts.saturating_add(column.parts),
            depth: row.depth.max(column.depth),
        };
        self.named.values().fold(self.unnamed, add)
    }

    fn size(&self, name: &str) -> Size {
        self.named.get(name).copied().unwrap_or(self.unnamed)
    }
}

struct Sums<'a> {
    blocks: &'a [Block],
    /// `Some(None)` while the sum runs.
    known: Vec<Option<Option<Rc<Weight<'a>>>>>,
    /// What expressions can name of the sources of each block, for the number of them that was asked for last.
    visible: Vec<Option<(usize, Rc<Columns<'a>>)>>,
    /// Columns that were handed on so far.
    passed: usize,
}

impl<'a> Sums<'a> {
    fn of(&mut self, id: usize) -> Result<Rc<Weight<'a>>, LimitExceeded> {
        match self.known.get(id) {
            Some(Some(Some(weight))) => return Ok(Rc::clone(weight)),
            // A recursive WITH refers to itself.
            Some(Some(None)) | None => return Ok(Rc::new(Weight::least())),
            Some(None) => {}
        }
        self.known[id] = Some(None);
        let weight = Rc::new(self.sum(id)?);
        self.known[id] = Some(Some(Rc::clone(&weight)));
        Ok(weight)
    }

    fn sum(&mut self, id: usize) -> Result<Weight<'a>, LimitExceeded> {
        let blocks = self.blocks;
        let block = &blocks[id];
        let mut sum = Weight {
            tables: block.tables,
            parts: block.parts,
            ..Weight::least()
        };
        for (id, _) in &block.sources {
            let inner = self.of(*id)?;
            sum.tables = sum.tables.saturating_add(inner.tables);
            sum.kept = sum.kept.saturating_add(inner.kept);
        }
        for id in &block.nested {
            sum.tables = sum.tables.saturating_add(self.of(*id)?.tables);
        }
        let mut uses = Vec::with_capacity(block.uses.len());
        for name in &block.uses {
            uses.push(self.size(id, name)?);
        }
        let mut columns = 0_u64;
        for item in &block.items {
            columns =
                columns.saturating_add(self.excess(block, &item.uses, &item.nested, &uses)?);
        }
        let all = self.excess(block, &(0..uses.len()), &(0..block.nested.len()), &uses)?;
        sum.excess = sum.kept.saturating_add(all);
        sum.kept = match block.is_barrier || block.is_grouped {
            true => sum.excess,
            false => sum.excess.saturating_sub(columns),
        };
        if block.is_barrier {
            return Ok(sum);
        }
        if block.is_grouped {
            uses.fill(Size::LEAST);
        }
        sum.columns = self.columns(block, &uses)?;
        Ok(sum)
    }

    /// What the columns of a block stand for, whose uses of columns stand for so much.
    fn columns(
        &mut self,
        block: &'a Block,
        uses: &[Size],
    ) -> Result<Rc<Columns<'a>>, LimitExceeded> {
        let passes = block.passes_all || block.is_renamed;
        if let ([(id, _)], [], true, false) = (
            block.sources.as_slice(),
            block.items.as_slice(),
            passes,
            block.is_renamed,
        ) {
            return Ok(Rc::clone(&self.of(*id)?.columns));
        }
        let mut columns = Columns::default();
        for item in &block.items {
            let size = self.item(block, item, uses)?;
            columns.add(item.name.as_deref(), size);
        }
        if passes && !block.is_grouped {
            self.pass(&block.sources, &mut columns)?;
        }
        if block.is_renamed {
            columns.unnamed = columns.largest;
            columns.named.clear();
        }
        Ok(Rc::new(columns))
    }

    /// Hands the columns of sources on. Those that several sources have in common are looked at once.
    fn pass(
        &mut self,
        sources: &[(usize, Option<String>)],
        to: &mut Columns<'a>,
    ) -> Result<(), LimitExceeded> {
        let mut seen = HashMap::new();
        for (id, _) in sources {
            let from = Rc::clone(&self.of(*id)?.columns);
            if seen.insert(Rc::as_ptr(&from), Rc::clone(&from)).is_some() {
                continue;
            }
            self.passed += from.named.len();
            if self.passed > MAX_PASSED {
                return Err(LimitExceeded::Columns);
            }
            to.add(None, from.unnamed);
            for (name, size) in &from.named {
                to.add(Some(*name), *size);
            }
        }
        Ok(())
    }

    /// What expressions can name of the first `count` sources of a block: a column counts as the largest of its name,
    /// and a source as its whole row.
    fn visible(&mut self, id: usize, count: usize) -> Result<Rc<Columns<'a>>, LimitExceeded> {
        if let Some(Some((known, visible))) = self.visible.get(id)
            && *known == count
        {
            return Ok(Rc::clone(visible));
        }
        let blocks = self.blocks;
        let sources = blocks[id].sources.get(..count).unwrap_or_default();
        let mut visible = Columns::default();
        self.pass(sources, &mut visible)?;
        // A name that only some sources have may be an unnamed column of another.
        if sources.len() > 1 {
            let unnamed = visible.unnamed;
            for size in visible.named.values_mut() {
                *size = Size::max(*size, unnamed);
            }
        }
        for (source, alias) in sources {
            if let Some(alias) = alias {
                let row = self.of(*source)?.columns.row();
                visible.add(Some(alias.as_str()), row);
            }
        }
        let visible = Rc::new(visible);
        self.visible[id] = Some((count, Rc::clone(&visible)));
        Ok(visible)
    }

    /// Parts beyond what is written of some of a block's uses of columns and subqueries in expressions.
    fn excess(
        &mut self,
        block: &Block,
        uses: &Range<usize>,
        nested: &Range<usize>,
        sizes: &[Size],
    ) -> Result<u64, LimitExceeded> {
        let uses = sizes.get(uses.clone()).unwrap_or_default();
        let uses = uses.iter().map(|size| size.parts - 1);
        let mut excess = uses.fold(0, u64::saturating_add);
        for id in block.nested.get(nested.clone()).unwrap_or_default() {
            excess = excess.saturating_add(self.of(*id)?.excess);
        }
        Ok(excess)
    }

    /// A column of a block, whose uses of columns stand for so much.
    fn item(&mut self, block: &Block, item: &Item, sizes: &[Size]) -> Result<Size, LimitExceeded> {
        let mut size = item.size.max(Size::LEAST);
        for id in block.nested.get(item.nested.clone()).unwrap_or_default() {
            size.parts = size.parts.saturating_add(self.of(*id)?.parts);
        }
        let excess = self.excess(block, &item.uses, &item.nested, sizes)?;
        let below = sizes.get(item.uses.clone()).unwrap_or_default();
        let below = below.iter().map(|size| size.depth - 1).max();
        Ok(Size {
            parts: size.parts.saturating_add(excess),
            depth: size.depth.saturating_add(below.unwrap_or_default()),
        })
    }

    /// What a column stands for: its own source is not looked for, the largest of the name counts.
    fn size(&mut self, id: usize, name: &str) -> Result<Size, LimitExceeded> {
        let blocks = self.blocks;
        let mut size = Size::LEAST;
        let mut around = Some((id, blocks[id].sources.len()));
        while let Some((id, count)) = around {
            if count > 0 {
                size = size.max(self.visible(id, count)?.size(name));
            }
            let block = &blocks[id];
            around = block.outer.map(|outer| (outer, block.outer_sources));
        }
        Ok(size)
    }
}
