//! A language model that says what the test wrote.
/// Scripted.
#[derive(Debug)]
pub struct ScriptedModel;
/// Turn.
#[derive(Debug)]
pub enum Turn {}
