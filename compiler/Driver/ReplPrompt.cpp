// The prompt of an interactive session: lines, commands, completion, and ^C.

#include "compiler/Driver/Doc.h"
#include "compiler/Driver/Repl.h"
#include "compiler/Support/BuiltinPages.h"

#include "runtime/core/Interrupt.h"

#include "llvm/LineEditor/LineEditor.h"

#include <csignal>
#include <sys/time.h>
#include <unistd.h>

namespace pmap {
namespace {

constexpr llvm::StringLiteral helpText =
    R"(Type an expression to see its value, `let x = e` or `var x = e` to keep it, or a definition (fn, type, const, import).
An entry goes on over several lines until its brackets close; two empty lines or ^C give it up. ^C ends a computation.
  :type EXPR     the type of an expression
  :ir EXPR       its operations in the pmap dialect
  :time EXPR     how long it takes, without and with compilation
  :plot EXPR     draw vectors, or the columns of a matrix, as curves
  :devices N     run on N devices from now on; without N, how many there are
  :load FILE     add the definitions of a file
  :load x=FILE   bind x to the array of a .npy file, or of a .npz archive (FILE:NAME is one of its arrays)
  :save FILE EXPR   write a value to a .npy file, or a record to a .npz archive
  :help          this text
  :help NAME     what is written about a builtin, a module or a library function
  :quit          end the session (also end of input)
)";

constexpr llvm::StringLiteral commandNames[] = {":type", ":ir",   ":time", ":plot", ":devices",
                                                ":load", ":save", ":help", ":quit"};

/// Completes the word before the cursor by the session's names, the commands and the builtins.
std::vector<llvm::LineEditor::Completion> complete(const ReplSession &session, llvm::StringRef buffer,
                                                   size_t position) {
  llvm::StringRef before = buffer.take_front(position);
  size_t start = before.find_last_of(" ()[]{},=+-*/@:");
  llvm::StringRef word =
      before.starts_with(":") ? before : before.drop_front(start == llvm::StringRef::npos ? 0 : start + 1);
  std::vector<llvm::LineEditor::Completion> found;
  std::vector<std::string> words = session.names();
  for (llvm::StringRef command : commandNames)
    words.push_back(command == ":quit" ? ":quit" : command.str() + " ");
  for (const BuiltinGroup &group : builtinGroups())
    for (const BuiltinEntry &entry : group.entries)
      words.push_back(entry.name);
  for (const std::string &name : words)
    if (!word.empty() && llvm::StringRef(name).starts_with(word))
      found.emplace_back(name.substr(word.size()), name);
  return found;
}

/// What the session can do, or what is written about a name.
void help(const std::string &name) {
  std::optional<std::string> page = name.empty() ? helpText.str() : documentationOf(name);
  if (page)
    llvm::outs() << *page;
  else
    llvm::errs() << "error: " << unknownDocumentation(name) << "\n";
}

/// Whether a line is a command. A colon may also begin the line of an entry, that of a slice.
bool isCommand(llvm::StringRef line) {
  return llvm::is_contained(commandNames, line.split(' ').first) || line == ":q" || line == ":exit" || line == ":h";
}

/// `:load FILE` and `:load x=FILE`.
void load(ReplSession &session, llvm::StringRef argument) {
  auto [name, path] = argument.split('=');
  if (path.empty() && (argument.contains(".npy") || argument.contains(".npz")))
    llvm::errs() << "error: arrays are loaded under a name, as in :load x=" << argument << "\n";
  else if (path.empty())
    session.load(argument.str());
  else
    session.loadArrays(name.trim().str(), path.trim().str());
}

/// Runs a line that starts with a colon. False: the session ends.
bool command(ReplSession &session, llvm::StringRef line, int threads) {
  auto [name, rest] = line.split(' ');
  std::string argument = rest.trim().str();
  bool needs = llvm::is_contained({":type", ":ir", ":time", ":plot", ":load", ":save"}, name);
  int devices = 0;
  if (name == ":quit" || name == ":q" || name == ":exit")
    return false;
  if (name == ":help" || name == ":h")
    help(argument);
  else if (needs && argument.empty())
    llvm::errs() << "error: " << name << " needs an argument; :help lists the commands\n";
  else if (name == ":type")
    session.showType(argument);
  else if (name == ":ir")
    session.showIr(argument);
  else if (name == ":time")
    session.time(argument);
  else if (name == ":plot")
    session.plot(argument);
  else if (name == ":load")
    load(session, argument);
  else if (name == ":save" && argument.find(' ') == std::string::npos)
    llvm::errs() << "error: :save takes a file and an expression, as in :save w.npy x + 1\n";
  else if (name == ":save")
    session.save(llvm::StringRef(argument).split(' ').first.str(), llvm::StringRef(argument).split(' ').second.str());
  else if (name == ":devices" && argument.empty())
    llvm::outs() << pmap_rt_num_devices() << "\n";
  else if (name == ":devices" && (llvm::StringRef(argument).getAsInteger(10, devices) || devices < 1 || devices > 1024))
    llvm::errs() << "error: :devices takes a number from 1 to 1024, got '" << argument << "'\n";
  else if (name == ":devices")
    pmap_rt_start(devices, threads);
  else
    llvm::errs() << "error: unknown command '" << name << "'; :help lists them\n";
  return true;
}

/// What other prompts take as the end or as a call for help.
llvm::StringRef wordCommand(const ReplSession &session, llvm::StringRef line) {
  llvm::StringRef word = line;
  word.consume_back("()");
  if (llvm::is_contained(session.names(), word))
    return "";
  return word == "exit" || word == "quit" ? ":quit" : word == "help" ? ":help" : "";
}

/// ^C: at the prompt it gives up the entry, while a computation runs it ends that. Where neither works (a loop that
/// never comes by the runtime), the third one ends the process.
volatile std::sig_atomic_t interrupts = 0;

volatile std::sig_atomic_t isReading = 0;

void onInterrupt(int signal) {
  if (isReading) {
    // The line editor reads on after one signal, and returns after the next.
    interrupts = 1;
    itimerval soon = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    return;
  }
  rt::interruptRequested = true;
  interrupts = interrupts + 1;
  if (interrupts == 2) {
    constexpr llvm::StringLiteral text = "\nstill computing; ^C once more ends the session\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
  } else if (interrupts > 2) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// Whether ^C came since the last call. The next one counts from one again.
bool takeInterrupt() {
  itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  bool any = interrupts > 0;
  interrupts = 0;
  rt::interruptRequested = false;
  return any;
}

void handleInterrupts() {
  struct sigaction action = {};
  action.sa_handler = onInterrupt; // Without SA_RESTART, so that reading a line ends.
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
}

} // namespace

int runRepl(const RunOptions &options, int devices, int threads, const std::vector<std::string> &load) {
  if (!canRunHere(options))
    return 2;
  pmap_rt_start(devices, threads);
  ReplSession session(options);
  for (const std::string &path : load)
    if (!session.load(path))
      return 2;
  bool isTerminal = isatty(STDIN_FILENO);
  if (isTerminal) {
    llvm::outs() << "pmapc " PMAPC_VERSION "; :help for help\n";
    handleInterrupts();
  }
  llvm::LineEditor editor("pmapc", llvm::LineEditor::getDefaultHistoryPath("pmapc"));
  editor.setListCompleter([&](llvm::StringRef buffer, size_t position) { return complete(session, buffer, position); });
  std::string pending;
  bool wasEmpty = false;
  while (true) {
    llvm::outs().flush();
    editor.setPrompt(!isTerminal ? "" : pending.empty() ? "> " : ". ");
    takeInterrupt();
    isReading = 1;
    auto read = editor.readLine();
    isReading = 0;
    if (takeInterrupt()) {
      llvm::outs() << "\n";
      pending.clear();
      continue;
    }
    if (!read)
      break;
    llvm::StringRef line = llvm::StringRef(*read).trim();
    if (llvm::StringRef word = pending.empty() ? wordCommand(session, line) : ""; !word.empty())
      line = word;
    if (pending.empty() ? line.starts_with(":") : isCommand(line)) {
      if (!pending.empty())
        llvm::errs() << "note: the entry that was begun is given up\n";
      pending.clear();
      if (!command(session, line, threads))
        return 0;
      continue;
    }
    // One empty line may be part of what is pasted; two end an entry.
    pending += *read + "\n";
    bool isEmpty = line.empty(), goesOn = isEmpty && !wasEmpty && !llvm::StringRef(pending).trim().empty();
    wasEmpty = isEmpty;
    if (!goesOn && (llvm::StringRef(pending).trim().empty() || session.enter(pending)))
      pending.clear();
    if (pending.empty())
      wasEmpty = false;
  }
  // What was begun and never ended is said, not lost in silence.
  if (!pending.empty())
    session.enter(pending + "\n");
  if (isTerminal)
    llvm::outs() << "\n";
  return 0;
}

} // namespace pmap
