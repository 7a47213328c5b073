//! A model that one instance of the module has for itself, or all that have the same memory.

#[cfg(not(feature = "shared"))]
pub(crate) type Handle<M> = M;
#[cfg(feature = "shared")]
pub(crate) type Handle<M> = alloc::sync::Arc<M>;

pub(crate) fn handle<M>(model: M) -> Handle<M> {
    #[cfg(feature = "shared")]
    let model = Handle::new(model);
    model
}
