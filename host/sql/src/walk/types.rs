//! Types that a statement may cast to.

use sqlparser::ast::{ArrayElemTypeDef, DataType, ExactNumberInfo, Ident, ObjectName, Spanned};

use super::Walk;
use mindhost_base::error::{Code, Result};
use mindhost_plugin_api::Dialect;

impl Walk<'_> {
    pub(super) fn data_type(&mut self, data_type: &mut DataType) -> Result<()> {
        use DataType as T;
        if self.is(Dialect::Clickhouse)
            && let Some(checked) = self.clickhouse_type(data_type)
        {
            return checked;
        }
        match data_type {
            T::Character(_)
            | T::Char(_)
            | T::CharacterVarying(_)
            | T::CharVarying(_)
            | T::Varchar(_)
            | T::Nvarchar(_)
            | T::Uuid
            | T::Binary(_)
            | T::Varbinary(_)
            | T::Blob(_)
            | T::Numeric(_)
            | T::Decimal(_)
            | T::Dec(_)
            | T::Float(_)
            | T::TinyInt(_)
            | T::Int2(_)
            | T::SmallInt(_)
            | T::Int(_)
            | T::Int4(_)
            | T::Int8(_)
            | T::Integer(_)
            | T::BigInt(_)
            | T::Signed
            | T::SignedInteger
            | T::Unsigned
            | T::UnsignedInteger
            | T::Float4
            | T::Real
            | T::Float8
            | T::Double(_)
            | T::DoublePrecision
            | T::Bool
            | T::Boolean
            | T::Date
            | T::Time(..)
            | T::Datetime(_)
            | T::Timestamp(..)
            | T::Interval { .. }
            | T::JSON
            | T::JSONB
            | T::Text
            | T::Bytea
            | T::Bit(_)
            | T::BitVarying(_)
            | T::VarBit(_)
            | T::GeometricType(_)
            | T::TsVector
            | T::TsQuery => Ok(()),
            T::String(None) if self.is(Dialect::Generic) || self.is(Dialect::Datafusion) => Ok(()),
            T::Array(ArrayElemTypeDef::SquareBracket(element, _))
                if self.is(Dialect::Postgresql) =>
            {
                self.data_type(element)
            }
            T::Custom(name, modifiers) => {
                let plain = modifiers
                    .iter()
                    .all(|modifier| modifier.bytes().all(|byte| byte.is_ascii_digit()));
                if plain && self.named_type(name)? {
                    Ok(())
                } else {
                    Err(self.no_type(data_type))
                }
            }
            _ => Err(self.no_type(data_type)),
        }
    }

    /// Types that only ClickHouse has. Four are printed in a form that it does not know, and get another name.
    fn clickhouse_type(&mut self, data_type: &mut DataType) -> Option<Result<()>> {
        use DataType as T;
        match data_type {
            T::Int8(None) => *data_type = T::TinyInt(None),
            T::String(None) => *data_type = T::Text,
            T::Int64 => *data_type = T::BigInt(None),
            T::Float64 => *data_type = T::Double(ExactNumberInfo::None),
            T::UInt8
            | T::UInt16
            | T::UInt32
            | T::UInt64
            | T::UInt128
            | T::UInt256
            | T::Int16
            | T::Int32
            | T::Int128
            | T::Int256
            | T::Float32
            | T::Date32
            | T::FixedString(_)
            | T::Datetime64(_, None) => {}
            T::Datetime64(_, Some(zone)) if zone.bytes().all(is_of_zone) => {}
            T::Nullable(inner)
            | T::LowCardinality(inner)
            | T::Array(ArrayElemTypeDef::Parenthesis(inner)) => {
                return Some(self.data_type(inner));
            }
            T::Tuple(fields) => {
                let mut fields = fields.iter_mut();
                return Some(fields.try_for_each(|field| {
                    self.none(field.options.as_ref(), "OPTIONS of a type")?;
                    field
                        .field_name
                        .as_ref()
                        .map_or(Ok(()), |name| self.ident(name))?;
                    self.data_type(&mut field.field_type)
                }));
            }
            T::Map(key, value) => {
                return Some(self.data_type(key).and_then(|()| self.data_type(value)));
            }
            _ => return None,
        }
        Some(Ok(()))
    }

    fn named_type(&mut self, name: &ObjectName) -> Result<bool> {
        let parts: Vec<Ident> = self.parts(name)?.into_iter().cloned().collect();
        let (schema, last) = match parts.as_slice() {
            [last] => (None, last),
            [schema, last] => (Some(schema), last),
            _ => return Ok(false),
        };
        if let Some(schema) = schema
            && !self.schema(schema)
        {
            return Ok(true);
        }
        let folded = self
            .rules
            .fold_built_in(&last.value, last.quote_style.is_some());
        Ok(self.rules.types.contains(folded.as_str()))
    }

    fn no_type(&self, data_type: &DataType) -> mindhost_base::error::Error {
        let at = match data_type {
            DataType::Custom(name, _) => name.span().start,
            _ => sqlparser::tokenizer::Location::empty(),
        };
        let instead = match self.is(Dialect::Postgresql) {
            true => {
                "; compare with the text itself, which takes the type of a column: mood = 'happy'"
            }
            false => "",
        };
        self.error(
            Code::SqlNotSupported,
            format!(
                "the type `{data_type}` is not one of the built-in {} types that a statement may name{instead}",
                self.rules.title()
            ),
            at,
        )
    }
}

/// Whether a byte may be part of the name of a time zone.
fn is_of_zone(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'+')
}
