/** Polyfilled where it is missing: symbols are all that `using` needs. */
export const disposeSymbol: typeof Symbol.dispose =
  (Symbol.dispose as typeof Symbol.dispose | undefined) ?? (Symbol.for("Symbol.dispose") as never);
