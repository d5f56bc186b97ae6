//! Settles what the scan left open: what a ranking ranks, what a listing lists, what is counted by default.

use crate::catalog::Catalog;
use crate::mentions::{Mention, What};
use crate::names::Target;
use crate::problem::Problem;
use crate::sketch::{Ask, Group, RankBy, Sketch};
use crate::vocabulary::{Aggregate, Operator as Op};

/// A sketch whose ask, groups and plain mentions have their final roles.
pub fn settle(
    catalog: &Catalog,
    mentions: &[Mention],
    mut sketch: Sketch,
) -> Result<Settled, Problem> {
    let mut count_groups = false;
    if sketch.when {
        return when(mentions, sketch);
    }
    if let Some(having) = sketch.having.clone() {
        count_groups = grouped_condition(&mut sketch, mentions)?;
        sketch.ask = Some(having.ask);
    }
    if let Some(rank) = sketch.rank {
        match rank.by {
            RankBy::Measure if sketch.ask.is_some() => {
                entity_to_group(&mut sketch, catalog, mentions)?
            }
            RankBy::Measure if sketch.groups.is_empty() => {
                return Err(rank_by_what(mentions, &sketch));
            }
            RankBy::Column(column)
                if sketch.ask.is_none()
                    && (sketch.plain.is_empty() || !sketch.groups.is_empty()) =>
            {
                // "what is the highest price", with no word of what has it.
                let function = if rank.descending {
                    Aggregate::Max
                } else {
                    Aggregate::Min
                };
                sketch.ask = Some(Ask::Aggregate(function, column));
                sketch.rank = None;
            }
            RankBy::Column(column)
                if is_rating(catalog, &mentions[column]) && sketch.ask.is_none() =>
            {
                sketch.ask = Some(Ask::Rated(column));
                sketch.rank = Some(crate::sketch::Rank {
                    by: RankBy::Measure,
                    ..rank
                });
                entity_to_group(&mut sketch, catalog, mentions)?;
            }
            _ if sketch.ask.is_some() && sketch.groups.is_empty() => {
                return Err(Problem::unsupported(
                    "I cannot tell what to put in order there: rows, or one figure?",
                ));
            }
            _ => {}
        }
    }
    Ok(Settled {
        sketch,
        count_groups,
        dated: None,
    })
}

/// The sketch after all roles are given.
pub struct Settled {
    /// Every mention in it has a role.
    pub sketch: Sketch,
    /// Only the number of groups is wanted.
    pub count_groups: bool,
    /// The mention of a table whose first or last date is wanted; true for the last.
    pub dated: Option<(usize, bool)>,
}

fn when(mentions: &[Mention], mut sketch: Sketch) -> Result<Settled, Problem> {
    let table = sketch
        .plain
        .iter()
        .copied()
        .find(|p| mentions[*p].is_table());
    match (table, sketch.rank.take()) {
        (Some(table), Some(rank)) if rank.by == RankBy::Recency => {
            sketch.plain.retain(|p| *p != table);
            Ok(Settled {
                sketch,
                count_groups: false,
                dated: Some((table, rank.descending)),
            })
        }
        _ => Err(Problem::unsupported(
            "For \"when\" I can give the first or the last date of a table: \"when was the last order?\".",
        )),
    }
}

/// "customers with more than 5 orders": the customers are the groups. True when only their number is asked.
fn grouped_condition(sketch: &mut Sketch, mentions: &[Mention]) -> Result<bool, Problem> {
    if let Some(Ask::Count(counted)) = sketch.ask.take() {
        sketch.groups.insert(0, Group::Name(counted));
        return Ok(true);
    }
    if !sketch.groups.is_empty() {
        return Ok(false);
    }
    let Some(entity) = sketch.plain.iter().position(|p| mentions[*p].is_table()) else {
        return Err(Problem::unsupported(
            "I cannot tell what the condition on a total or a number is about.",
        ));
    };
    let entity = sketch.plain.remove(entity);
    sketch.groups.push(Group::Name(entity));
    Ok(false)
}

/// The first plain mention that is a thing, not a figure, is what a ranking ranks.
fn entity_to_group(
    sketch: &mut Sketch,
    catalog: &Catalog,
    mentions: &[Mention],
) -> Result<(), Problem> {
    if !sketch.groups.is_empty() {
        return Ok(());
    }
    let numeric = |m: &Mention| match m.hits.first().map(|h| &h.target) {
        Some(Target::Column(c)) => catalog.column(*c).is_numeric(),
        _ => false,
    };
    let Some(entity) = sketch.plain.iter().position(|p| !numeric(&mentions[*p])) else {
        // "highest revenue" alone is just the revenue of … nothing that could be compared.
        return Err(Problem::unsupported(
            "I cannot tell what to rank: name it, as in \"which product has the highest revenue\".",
        ));
    };
    let entity = sketch.plain.remove(entity);
    sketch.groups.push(Group::Name(entity));
    Ok(())
}

fn rank_by_what(mentions: &[Mention], sketch: &Sketch) -> Problem {
    let thing = sketch
        .plain
        .first()
        .map_or("rows", |p| mentions[*p].text.as_str());
    Problem::unsupported(format!(
        "The question does not say by what to rank the {thing}. Try \"top 5 {thing} by revenue\" or \"by number of …\"."
    ))
}

fn is_rating(catalog: &Catalog, mention: &Mention) -> bool {
    mention.hits.iter().any(|h| match h.target {
        Target::Column(c) => {
            crate::pick::concept_column(catalog.table(c.table), "rating") == Some(c.column)
        }
        _ => false,
    })
}

/// How many rows a ranking shows when the question gives no number: one for "which customer", five for "top customers".
pub fn ranking_limit(sketch: &Sketch, mentions: &[Mention]) -> u64 {
    let several = |m: &Mention| {
        m.text.to_lowercase().ends_with('s')
            && m.text.to_lowercase() != crate::words::stem(&m.text.to_lowercase())
    };
    let entity = match sketch.groups.first() {
        Some(Group::Name(m)) => Some(*m),
        Some(Group::Bucket(_)) => None,
        None => sketch.plain.first().copied(),
    };
    let top = mentions.iter().any(|m| {
        matches!(
            m.what,
            What::Op(Op::Top(_) | Op::BestSelling | Op::Rated(_) | Op::Priced(_) | Op::Recent(_))
        )
    });
    let default = if top && entity.is_some_and(|e| several(&mentions[e])) {
        5
    } else {
        1
    };
    sketch.limit.unwrap_or(default).clamp(1, 1000)
}
