//! A model that one instance of the module has for itself, or all that have the same memory.

#[cfg(not(feature = "shared"))]
pub(crate) type Held<M> = M;
#[cfg(feature = "shared")]
pub(crate) type Held<M> = alloc::sync::Arc<M>;

pub(crate) fn held<M>(model: M) -> Held<M> {
    #[cfg(feature = "shared")]
    let model = Held::new(model);
    model
}
