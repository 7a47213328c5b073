/** Where a file of the package lies while Vite's development server has its code in a folder of its own. */
export function original(address: string): string | undefined {
  const [start, file] = address.split(/\/\.vite\/deps[^/]*\//);
  return file && `${start}/nanoembed/dist/${file}`;
}
