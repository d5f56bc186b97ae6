//! Clients that people already use, run unchanged against the server.

mod minds_sdk;
mod openai_python;
