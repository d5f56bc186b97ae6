//! The offline model of Mindhost: answers plain questions by rules, without a network.
