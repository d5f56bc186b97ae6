//! Clients that people already use, run unchanged against the server.

mod openai_python;
