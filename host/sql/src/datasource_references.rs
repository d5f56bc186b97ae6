//! The datasources that a refused statement refers to, so that its error is that of the engine which would have run it.

use std::ops::ControlFlow;

use sqlparser::{
    ast::{Ident, ObjectName, ObjectNamePart, Query, Visit as _, Visitor},
    tokenizer::{Span, Token},
};

use super::{
    guard::read,
    lexical::{self, Source},
    names::{is_datasource, resolve},
    rules::Rules,
    scope::Scope,
};
use mindhost_plugin_api::Dialect;

/// The datasources of the statement's tables, as indices into [`Scope::datasources`], in the first dialect that can read
/// it. If none can, those whose names stand before a point.
pub(super) fn find(source: &Source<'_>, scope: &Scope) -> Vec<usize> {
    let own = scope.datasources.iter().map(|one| one.dialect);
    let dialects: Vec<_> = [Dialect::Datafusion].into_iter().chain(own).collect();
    let mut readable = dialects.iter().enumerate().filter_map(|(at, dialect)| {
        let is_first = !dialects.iter().take(at).any(|before| before == dialect);
        is_first.then(|| read(source, Rules::of(*dialect)).ok())?
    });
    let mut found = match readable.next() {
        Some(query) => in_tables(&query, scope),
        None => in_words(source, scope),
    };
    found.sort_unstable();
    found.dedup();
    found
}

fn in_tables(query: &Query, scope: &Scope) -> Vec<usize> {
    let mut relations = Relations::default();
    let _ = query.visit(&mut relations);
    let is_cte = |parts: &[&Ident]| match parts {
        [only] => relations.ctes.contains(&only.value.to_lowercase()),
        _ => false,
    };
    let tables = relations.names.iter().filter_map(|name| {
        let parts = name.0.iter().map(ObjectNamePart::as_ident);
        let parts: Vec<_> = parts.collect::<Option<_>>()?;
        match is_cte(&parts) {
            true => None,
            false => Some(resolve(scope, &parts).ok()?.datasource),
        }
    });
    tables.collect()
}

fn in_words(source: &Source<'_>, scope: &Scope) -> Vec<usize> {
    let Ok(tokens) = lexical::tokens(source, Rules::of(Dialect::Datafusion)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for pair in tokens.windows(2) {
        let [name, point] = pair else {
            continue;
        };
        if let (Token::Word(word), Token::Period) = (&name.token, &point.token) {
            let name = Ident {
                value: word.value.clone(),
                quote_style: word.quote_style,
                span: Span::empty(),
            };
            let candidates = scope.datasources.iter().enumerate();
            let named = candidates.filter(|(_, one)| is_datasource(scope, one, &name));
            found.extend(named.map(|(index, _)| index));
        }
    }
    found
}

/// The names behind FROM, and those of WITH.
#[derive(Default)]
struct Relations {
    names: Vec<ObjectName>,
    /// In lower case.
    ctes: Vec<String>,
}

impl Visitor for Relations {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(with) = &query.with {
            let names = with.cte_tables.iter().map(|cte| &cte.alias.name.value);
            self.ctes.extend(names.map(|name| name.to_lowercase()));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.names.push(name.clone());
        ControlFlow::Continue(())
    }
}
