import type { Address } from "./address.js";

/** The address of all-MiniLM-L6-v2 in 8 bits, of 24 MB. */
declare const address: Address;
export default address;
