//! From the exported functions of the component to the [`Model`] of its author.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::{Embeddings, Event, Model, Request};
use crate::bindings::connector::mindhost::plugin::types;
use crate::bindings::embeddings::exports::mindhost::plugin::embeddings;
use crate::bindings::model::exports::mindhost::plugin::model as wire;
use crate::error::{Error, ErrorKind};
use crate::sanity;

type Result<T> = std::result::Result<T, types::Error>;

/// What [`crate::export_model!`] exports for a model.
pub struct ExportedModel<T>(PhantomData<T>);

impl<T: Model> wire::Guest for ExportedModel<T> {
    type Completion = Completion<T>;

    fn start(config: types::Config, request: Request) -> Result<wire::Completion> {
        let completion = T::start(&config.into(), request)?;
        Ok(wire::Completion::new(Completion::<T>::new(completion)))
    }

    fn check(config: types::Config) -> Result<String> {
        Ok(T::check(&config.into())?)
    }

    fn models(config: types::Config) -> Result<Vec<String>> {
        let models = T::models(&config.into())?;
        sanity::models(&models)?;
        Ok(models)
    }

    fn describe() -> String {
        T::MANIFEST.to_owned()
    }
}

impl<T: Embeddings> embeddings::Guest for ExportedModel<T> {
    fn embed(config: types::Config, model: String, texts: Vec<String>) -> Result<Vec<Vec<f32>>> {
        let vectors = T::embed(&config.into(), &model, &texts)?;
        if vectors.len() != texts.len() {
            let message = format!(
                "{} texts were embedded as {} vectors",
                texts.len(),
                vectors.len()
            );
            return Err(Error::internal(message).into());
        }
        Ok(vectors)
    }
}

/// What the host's handle of a completion points to; empty after its end.
pub struct Completion<T: Model>(RefCell<Option<T::Completion>>);

impl<T: Model> Completion<T> {
    fn new(completion: T::Completion) -> Self {
        Self(RefCell::new(Some(completion)))
    }

    /// Ends the completion at its stop event, at an error, and where the stream was cut.
    fn advance(&self) -> crate::Result<Option<Vec<Event>>> {
        let Ok(mut slot) = self.0.try_borrow_mut() else {
            return Err(Error::internal(
                "the completion was called while another call of it was running",
            ));
        };
        let Some(completion) = slot.as_mut() else {
            return Ok(None);
        };
        let events = T::next(completion).and_then(|events| {
            sanity::events(events.as_deref().unwrap_or_default())?;
            Ok(events)
        });
        let goes_on = matches!(&events, Ok(Some(events)) if !events.iter().any(|event| matches!(event, Event::Stop(_))));
        if !goes_on {
            *slot = None;
        }
        match events? {
            Some(events) => Ok(Some(events)),
            None => Err(Error::new(
                ErrorKind::ConnectionLost,
                "the model's answer was cut before its end",
            )),
        }
    }
}

impl<T: Model> wire::GuestCompletion for Completion<T> {
    fn next(&self) -> Result<Option<Vec<Event>>> {
        Ok(self.advance()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::model::StopReason;

    struct Scripted;

    impl Model for Scripted {
        const MANIFEST: &'static str = "{}";
        type Completion = Vec<Event>;

        fn start(_: &Config, _: Request) -> crate::Result<Vec<Event>> {
            Ok(Vec::new())
        }

        fn next(events: &mut Vec<Event>) -> crate::Result<Option<Vec<Event>>> {
            Ok((!events.is_empty()).then(|| vec![events.remove(0)]))
        }

        fn check(_: &Config) -> crate::Result<String> {
            Ok("ready".into())
        }
    }

    #[test]
    fn nothing_comes_after_the_stop_event() {
        let stop = Event::Stop((StopReason::End, "stop".into()));
        let completion = Completion::<Scripted>::new(vec![
            Event::Text("a".into()),
            stop.clone(),
            Event::Text("b".into()),
        ]);
        assert_eq!(
            completion.advance(),
            Ok(Some(vec![Event::Text("a".into())]))
        );
        assert_eq!(completion.advance(), Ok(Some(vec![stop])));
        assert_eq!(completion.advance(), Ok(None));
    }

    #[test]
    fn an_answer_without_a_stop_event_was_cut() {
        let completion = Completion::<Scripted>::new(vec![Event::Text("a".into())]);
        assert!(completion.advance().is_ok());
        assert_eq!(
            completion.advance().unwrap_err().kind(),
            ErrorKind::ConnectionLost
        );
        assert_eq!(completion.advance(), Ok(None));
    }
}
