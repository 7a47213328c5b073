import type { Address } from "./address.js";

/** The address of all-MiniLM-L6-v2 in 4.5 bits a weight, of 13 MB. */
declare const address: Address;
export default address;
