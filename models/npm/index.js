// Bundlers find the file by the form of this line: the address must stand there as it is.
const beside = new URL("./all-MiniLM-L6-v2.int8.weights", import.meta.url);

// Vite's development server moves the code of dependencies into a folder of its own, and nothing else.
export default new URL(beside.href.replace(/\/\.vite\/deps[^/]*\//, "/nanoembed-minilm/"));
