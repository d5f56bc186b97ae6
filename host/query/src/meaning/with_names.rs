//! A WITH may define a name that a WITH around it defines too. DataFusion refuses that.

use std::{collections::HashMap, ops::ControlFlow};

use sqlparser::ast::{
    Ident, ObjectName, Query, Statement, TableAlias, TableFactor, Visit, VisitMut, Visitor,
    VisitorMut,
};

use super::merged_columns::only_part;
use crate::names::folded;

/// Gives each WITH of a statement a name of its own, if two have the same.
pub fn unique(statement: &mut Statement) {
    let mut count = Count::default();
    let _ = Visit::visit(statement, &mut count);
    if count.0.values().any(|times| *times > 1) {
        let mut names = Names {
            of: count.0,
            given: 0,
        };
        let _ = VisitMut::visit(statement, &mut names);
    }
}

/// How many WITH define each name.
#[derive(Default)]
struct Count(HashMap<String, usize>);

impl Visitor for Count {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            *self.0.entry(folded(&cte.alias.name)).or_default() += 1;
        }
        ControlFlow::Continue(())
    }
}

struct Names {
    of: HashMap<String, usize>,
    given: usize,
}

impl VisitorMut for Names {
    type Break = ();

    /// The inner ones come first, so the mentions that still have the name are of this WITH.
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let Some(mut with) = query.with.take() else {
            return ControlFlow::Continue(());
        };
        for at in 0..with.cte_tables.len() {
            let Some((cte, later)) = with
                .cte_tables
                .get_mut(at..)
                .and_then(<[_]>::split_first_mut)
            else {
                break;
            };
            let name = folded(&cte.alias.name);
            if self.of.get(&name).is_none_or(|times| *times < 2) {
                continue;
            }
            self.given += 1;
            // The guard allows no name of a WITH with a full stop, and a colon needs quotes.
            let own = Ident::with_quote('"', format!("{name}:{}", self.given));
            let mut mentions = Mentions {
                name,
                own: own.clone(),
            };
            cte.alias.name = own;
            for later in later {
                let _ = VisitMut::visit(&mut later.query, &mut mentions);
            }
            let _ = VisitMut::visit(query, &mut mentions);
        }
        query.with = Some(with);
        ControlFlow::Continue(())
    }
}

/// Writes the mentions of a WITH with its own name. Their columns keep the name that they are qualified with.
struct Mentions {
    name: String,
    own: Ident,
}

impl VisitorMut for Mentions {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
            && let Some(mentioned) = only_part(name)
            && folded(mentioned) == self.name
        {
            let mentioned = mentioned.clone();
            alias.get_or_insert_with(|| TableAlias {
                explicit: true,
                name: mentioned,
                columns: Vec::new(),
                at: None,
            });
            *name = ObjectName::from(vec![self.own.clone()]);
        }
        ControlFlow::Continue(())
    }
}
