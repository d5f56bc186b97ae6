//! Serde's derived types take more than the documentation says: a list of a struct's values for the struct, and an object
//! for a word. These readers take objects and texts alone, and keep the path of a mistake inside them.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, MapAccess, Visitor,
        value::{MapAccessDeserializer, StrDeserializer},
    },
};

/// A `T` that is written as an object.
pub struct ObjectOf<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = ObjectOf<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(ObjectOf)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// An object.
///
/// # Errors
/// For anything else, and as `T`.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    ObjectOf::deserialize(deserializer).map(|object| object.0)
}

/// An object or null.
///
/// # Errors
/// As [`object`].
pub fn optional_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let object = Option::<ObjectOf<T>>::deserialize(deserializer)?;
    Ok(object.map(|object| object.0))
}

/// A list of objects.
///
/// # Errors
/// As [`object`].
pub fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<ObjectOf<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|object| object.0).collect())
}

/// One of the words of `T`.
///
/// # Errors
/// For another word, and for what is no text.
pub fn word<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    T::deserialize(StrDeserializer::new(&text))
}

/// One of the words of `T`, or null.
///
/// # Errors
/// As [`word`].
pub fn optional_word<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let word = text.map(|text| T::deserialize(StrDeserializer::new(&text)));
    word.transpose()
}
