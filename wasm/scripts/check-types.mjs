// Checks the types of the package and of all that is not compiled when it is built: tests, demos, scripts. A promise that
// is neither awaited nor used is a complaint, too, unless its errors are caught or `void` says that nobody waits; JavaScript is
// checked for that alone.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const here = dirname(dirname(fileURLToPath(import.meta.url)));

/** The program that a configuration describes. */
function programOf(name) {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (diagnostic) => { throw new Error(text(diagnostic)); } };
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(join(here, name), {}, host);
  return ts.createProgram({ rootNames: fileNames, options, configFileParsingDiagnostics: errors });
}

const text = ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n");

/** What is run for its effect alone in `a`, `a || b`, `a ?? b`, `a && b`, `a ? b : c` and `a, b`. */
function effects(node) {
  if (ts.isParenthesizedExpression(node)) return effects(node.expression);
  if (ts.isConditionalExpression(node)) return [...effects(node.whenTrue), ...effects(node.whenFalse)];
  if (!ts.isBinaryExpression(node)) return [node];
  const { AmpersandAmpersandToken, BarBarToken, CommaToken, QuestionQuestionToken } = ts.SyntaxKind;
  const isChain = [AmpersandAmpersandToken, BarBarToken, CommaToken, QuestionQuestionToken].includes(node.operatorToken.kind);
  return isChain ? [...effects(node.left), ...effects(node.right)] : [];
}

/** True for `promise.catch(f)` and `promise.then(f, g)`, and for what is called when those are over. */
function isCaught(node) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const { name, expression } = node.expression;
  return (name.text === "catch" && node.arguments.length > 0) || (name.text === "then" && node.arguments.length > 1)
    || (name.text === "finally" && isCaught(expression));
}

/** Statements of a file that leave a promise. */
function floating(checker, file) {
  const found = [];
  const isPromise = (node) => {
    const type = checker.getTypeAtLocation(node);
    const kinds = type.isUnion() ? type.types : [type];
    return kinds.some((kind) => checker.getPropertyOfType(kind, "then") !== undefined);
  };
  const visit = (node) => {
    if (ts.isExpressionStatement(node)) found.push(...effects(node.expression).filter((effect) => isPromise(effect) && !isCaught(effect)));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** All that is wrong with a program, a line for each. */
function complaints(program) {
  const place = (file, start) => {
    const { line, character } = file.getLineAndCharacterOfPosition(start);
    return `${file.fileName}:${line + 1}:${character + 1}`;
  };
  const said = ts.getPreEmitDiagnostics(program).map((one) => `${one.file ? `${place(one.file, one.start)}: ` : ""}${text(one)}`);
  const checker = program.getTypeChecker();
  const own = program.getSourceFiles().filter(({ fileName, isDeclarationFile }) => !isDeclarationFile && !/\/(node_modules|generated)\//.test(fileName));
  for (const file of own) {
    for (const node of floating(checker, file)) said.push(`${place(file, node.getStart())}: this promise is neither awaited nor used`);
  }
  return said;
}

const all = ["tsconfig.json", "tsconfig.check.json"].flatMap((name) => complaints(programOf(name)));
for (const line of new Set(all)) console.error(line);
process.exitCode = all.length > 0 ? 1 : 0;
