import { address } from "./address.js";

// Bundlers find the file by the form of this line: the address must stand there as it is.
const locate = () => new URL("./all-MiniLM-L6-v2.amb", import.meta.url);

export default /* @__PURE__ */ address("all-MiniLM-L6-v2.amb", locate);
