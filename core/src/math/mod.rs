//! Functions of single numbers, written so that every target computes the same bits.

pub(crate) mod activation;
