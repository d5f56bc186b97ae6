//! Names of tables, as statements and the steps of an answer write them.

/// The name of a table, and what the table is in, as far as that is said. In lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableName {
    /// Datasource, database and schema, the outermost first. Each of them may be missing.
    pub within: Vec<String>,
    /// Its own name.
    pub name: String,
}

impl TableName {
    /// Reads `datasource.schema.table`, whole or in parts, quoted or not. `None` without any part.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let parts = parts.into_iter().flat_map(|part| part.split('.'));
        let part = |part: &str| {
            part.trim()
                .trim_matches(['"', '`', '[', ']'])
                .to_lowercase()
        };
        let mut within: Vec<String> = parts.map(part).collect();
        let name = within.pop()?;
        Some(Self { within, name })
    }

    /// Whether both may be the same table: they have the same name, and what one says of its datasource and schema, the
    /// other one says too, in the same order, unless it says less.
    pub fn agrees(&self, other: &Self) -> bool {
        let (short, long) = match self.within.len() <= other.within.len() {
            true => (self, other),
            false => (other, self),
        };
        let mut rest = long.within.iter();
        self.name == other.name && short.within.iter().all(|part| rest.any(|one| one == part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_as_far_as_both_say_what_the_table_is_in() {
        let agree = |one: &str, other: &str| {
            let (one, other) = (TableName::of([one]), TableName::of([other]));
            one.zip(other)
                .is_some_and(|(one, other)| one.agrees(&other) && other.agrees(&one))
        };
        assert!(agree("orders", "shop.public.Orders"));
        assert!(agree("public.orders", "shop.\"public\".orders"));
        assert!(agree("shop.orders", "shop.public.orders"));
        assert!(agree("shop.public.orders", "shop.public.orders"));
        assert!(!agree("archive.orders", "shop.public.orders"));
        assert!(!agree("public.shop.orders", "shop.public.orders"));
        assert!(!agree("orders", "shop.public.customers"));
    }
}
