//! PostgreSQL's types: their names, and how their text form becomes the host's values.

use std::collections::HashMap;

use mindhost_sdk::{DataType, Result};
use postgres_protocol::Oid;

use crate::array::Element;
use crate::session::Session;

/// How a column's cells are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    Integer,
    Float,
    Decimal,
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    TimestampUtc,
    Json,
    Array { element: Element, delimiter: u8 },
}

impl Kind {
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Kind::Boolean => DataType::Boolean,
            Kind::Integer => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Decimal => DataType::Decimal,
            Kind::Text => DataType::Text,
            Kind::Bytes => DataType::Bytes,
            Kind::Date => DataType::Date,
            Kind::Time => DataType::Time,
            Kind::Timestamp => DataType::Timestamp,
            Kind::TimestampUtc => DataType::TimestampUtc,
            Kind::Json | Kind::Array { .. } => DataType::Json,
        }
    }

    /// What a value of this kind is inside an array.
    fn element(self) -> Element {
        match self {
            Kind::Boolean => Element::Boolean,
            Kind::Integer => Element::Integer,
            Kind::Float => Element::Float,
            Kind::Json => Element::Json,
            Kind::Bytes => Element::Bytes,
            Kind::Timestamp | Kind::TimestampUtc => Element::Timestamp,
            // Decimals too: as numbers they would lose digits.
            Kind::Decimal | Kind::Text | Kind::Date | Kind::Time | Kind::Array { .. } => {
                Element::Text
            }
        }
    }
}

/// A type and the array of it, as the server's own catalog numbers them.
struct BuiltIn {
    oid: Oid,
    array: Oid,
    name: &'static str,
    kind: Kind,
}

const fn built_in(oid: Oid, array: Oid, name: &'static str, kind: Kind) -> BuiltIn {
    BuiltIn {
        oid,
        array,
        name,
        kind,
    }
}

/// The types whose numbers are fixed. Names are those of `format_type`.
const BUILT_IN: &[BuiltIn] = &[
    built_in(16, 1000, "boolean", Kind::Boolean),
    built_in(17, 1001, "bytea", Kind::Bytes),
    built_in(18, 1002, "\"char\"", Kind::Text),
    built_in(19, 1003, "name", Kind::Text),
    built_in(20, 1016, "bigint", Kind::Integer),
    built_in(21, 1005, "smallint", Kind::Integer),
    built_in(23, 1007, "integer", Kind::Integer),
    built_in(24, 1008, "regproc", Kind::Text),
    built_in(25, 1009, "text", Kind::Text),
    built_in(26, 1028, "oid", Kind::Integer),
    built_in(27, 1010, "tid", Kind::Text),
    built_in(28, 1011, "xid", Kind::Text),
    built_in(29, 1012, "cid", Kind::Text),
    built_in(114, 199, "json", Kind::Json),
    built_in(142, 143, "xml", Kind::Text),
    built_in(600, 1017, "point", Kind::Text),
    built_in(601, 1018, "lseg", Kind::Text),
    built_in(602, 1019, "path", Kind::Text),
    built_in(603, 1020, "box", Kind::Text),
    built_in(604, 1027, "polygon", Kind::Text),
    built_in(628, 629, "line", Kind::Text),
    built_in(650, 651, "cidr", Kind::Text),
    built_in(700, 1021, "real", Kind::Float),
    built_in(701, 1022, "double precision", Kind::Float),
    built_in(705, 0, "unknown", Kind::Text),
    built_in(718, 719, "circle", Kind::Text),
    built_in(774, 775, "macaddr8", Kind::Text),
    built_in(790, 791, "money", Kind::Text),
    built_in(829, 1040, "macaddr", Kind::Text),
    built_in(869, 1041, "inet", Kind::Text),
    built_in(1042, 1014, "character", Kind::Text),
    built_in(1043, 1015, "character varying", Kind::Text),
    built_in(1082, 1182, "date", Kind::Date),
    built_in(1083, 1183, "time without time zone", Kind::Time),
    built_in(1114, 1115, "timestamp without time zone", Kind::Timestamp),
    built_in(1184, 1185, "timestamp with time zone", Kind::TimestampUtc),
    built_in(1186, 1187, "interval", Kind::Text),
    built_in(1266, 1270, "time with time zone", Kind::Text),
    built_in(1560, 1561, "bit", Kind::Text),
    built_in(1562, 1563, "bit varying", Kind::Text),
    built_in(1700, 1231, "numeric", Kind::Decimal),
    built_in(1790, 2201, "refcursor", Kind::Text),
    built_in(2205, 2210, "regclass", Kind::Text),
    built_in(2249, 2287, "record", Kind::Text),
    built_in(2278, 0, "void", Kind::Text),
    built_in(2950, 2951, "uuid", Kind::Text),
    built_in(3220, 3221, "pg_lsn", Kind::Text),
    built_in(3614, 3643, "tsvector", Kind::Text),
    built_in(3615, 3645, "tsquery", Kind::Text),
    built_in(3802, 3807, "jsonb", Kind::Json),
    built_in(3904, 3905, "int4range", Kind::Text),
    built_in(3906, 3907, "numrange", Kind::Text),
    built_in(3908, 3909, "tsrange", Kind::Text),
    built_in(3910, 3911, "tstzrange", Kind::Text),
    built_in(3912, 3913, "daterange", Kind::Text),
    built_in(3926, 3927, "int8range", Kind::Text),
    built_in(4072, 4073, "jsonpath", Kind::Text),
    built_in(5069, 271, "xid8", Kind::Text),
];

/// A type that a column has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    /// As `format_type` writes it.
    pub(crate) name: String,
}

/// The types of this database that its users made, as far as they were met.
#[derive(Default)]
pub(crate) struct TypeCache {
    found: HashMap<Oid, Type>,
}

impl TypeCache {
    /// The type with this number and modifier, if it is known.
    pub(crate) fn get(&self, oid: Oid, modifier: i32) -> Option<Type> {
        if let Some(found) = self.found.get(&oid) {
            return Some(found.clone());
        }
        if let Some(built_in) = BUILT_IN.iter().find(|built_in| built_in.oid == oid) {
            return Some(Type {
                kind: built_in.kind,
                name: with_modifier(built_in, modifier),
            });
        }
        let element = BUILT_IN.iter().find(|built_in| built_in.array == oid)?;
        let delimiter = if element.name == "box" { b';' } else { b',' };
        let kind = Kind::Array {
            element: element.kind.element(),
            delimiter,
        };
        Some(Type {
            kind,
            name: format!("{}[]", with_modifier(element, modifier)),
        })
    }
}

/// Whether cells of this type may be asked for in the binary format.
pub(crate) fn has_binary(oid: Oid) -> bool {
    // Not `oid`, which is unsigned, nor `real`, whose shortest text is its value.
    matches!(oid, 16 | 20 | 21 | 23) || is_dear(oid)
}

/// Whether the server takes much longer to write the type as text than as binary.
pub(crate) fn is_dear(oid: Oid) -> bool {
    matches!(oid, 17 | 701 | 1082 | 1083 | 1114 | 1184)
}

/// For a type of the users' own: text, unless it is an array. An array of a domain holds what the domain is based on. The
/// name has the schema, as in the catalog, also where the search path finds it without.
const LOOK_UP: &str = "
    SELECT t.oid::text,
        CASE WHEN n.nspname <> 'pg_catalog' AND pg_catalog.pg_type_is_visible(b.oid)
            THEN pg_catalog.quote_ident(n.nspname) || '.' ELSE '' END || pg_catalog.format_type(t.oid, NULL),
        e.typdelim::text,
        (WITH RECURSIVE base (oid, next) AS (
            SELECT e.oid, e.typbasetype
            UNION ALL
            SELECT b.oid, b.typbasetype FROM base JOIN pg_catalog.pg_type b ON b.oid = base.next)
         SELECT base.oid FROM base WHERE next = 0)::text
    FROM pg_catalog.pg_type t
    LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid
    JOIN pg_catalog.pg_type b ON b.oid = coalesce(e.oid, t.oid)
    JOIN pg_catalog.pg_namespace n ON n.oid = b.typnamespace
    WHERE t.oid = ANY ($1::oid[])";

/// Asks the server for types that are not known, inside the transaction of the open cursor.
pub(crate) fn look_up(session: &mut Session, oids: &[Oid]) -> Result<()> {
    let list: Vec<String> = oids.iter().map(Oid::to_string).collect();
    let mut found = Vec::new();
    session.rows_beside_cursor(LOOK_UP, &[&format!("{{{}}}", list.join(","))], |row| {
        let kind = match (row.number::<Oid>(3), row.text(2).bytes().next()) {
            (Some(element), Some(delimiter)) => {
                let kind = BUILT_IN
                    .iter()
                    .find(|built_in| built_in.oid == element)
                    .map_or(Kind::Text, |found| found.kind);
                Kind::Array {
                    element: kind.element(),
                    delimiter,
                }
            }
            _ => Kind::Text,
        };
        if let Some(oid) = row.number(0).filter(|oid| oids.contains(oid)) {
            found.push((
                oid,
                Type {
                    kind,
                    name: row.text(1).to_owned(),
                },
            ));
        }
        Ok(())
    })?;
    session.types.found.extend(found);
    // A type that was dropped meanwhile is not asked for again.
    for oid in oids {
        session.types.found.entry(*oid).or_insert_with(|| Type {
            kind: Kind::Text,
            name: "unknown".into(),
        });
    }
    Ok(())
}

/// The name with the type's modifier, as `format_type` writes it.
fn with_modifier(built_in: &BuiltIn, modifier: i32) -> String {
    let name = built_in.name;
    if modifier < 0 {
        // `character` alone would mean `character(1)`.
        return if name == "character" {
            "bpchar".into()
        } else {
            name.into()
        };
    }
    match name {
        "numeric" => {
            let packed = modifier - 4;
            // The scale is signed in eleven bits.
            let scale = ((packed & 0x7ff) ^ 0x400) - 0x400;
            format!("numeric({},{scale})", (packed >> 16) & 0xffff)
        }
        "character" | "character varying" => format!("{name}({})", modifier - 4),
        "bit" | "bit varying" => format!("{name}({modifier})"),
        _ => match name.split_once(' ') {
            Some((first @ ("time" | "timestamp"), zone)) => format!("{first}({modifier}) {zone}"),
            _ => name.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_format_type() {
        let types = TypeCache::default();
        for (oid, modifier, name) in [
            (1700, -1, "numeric"),
            (1700, 786_438, "numeric(12,2)"),
            (1700, (3 << 16 | 0x7fe) + 4, "numeric(3,-2)"),
            (1043, 24, "character varying(20)"),
            (1042, 5, "character(1)"),
            (1042, -1, "bpchar"),
            (1007, -1, "integer[]"),
            (1231, 786_438, "numeric(12,2)[]"),
            (1114, 3, "timestamp(3) without time zone"),
            (1560, 8, "bit(8)"),
        ] {
            assert_eq!(types.get(oid, modifier).unwrap().name, name);
        }
    }
}
