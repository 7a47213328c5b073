//! The texts of a model's files, read into plain data: the only code that knows what their settings
//! mean. Nothing here allocates.
//!
//! | part | what it reads |
//! |---|---|
//! | [`folder`] | the texts of a Hugging Face folder, wherever they are kept |

pub mod folder;
