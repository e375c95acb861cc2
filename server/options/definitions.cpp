#include "server/options/definitions.hpp"

#include <algorithm>
#include <array>

namespace berth::server {
namespace {

constexpr double second = 1000;
constexpr double hour = 3600 * second;
constexpr double mebibyte = 1024.0 * 1024;
constexpr double gibibyte = 1024 * mebibyte;

// clang-format off
constexpr std::array table = {
    Definition{"allowed_mount_roots", Kind::list, "", 0, 0, "", false, "folders below which everything that is mounted must be; without any, profiles mount nothing"},
    Definition{"audit_command", Kind::choice, "text", 0, 0, "text|hash|none", true, "of a command in the audit log: its first 400 characters without values that are known to be secret, its SHA-256, or nothing"},
    Definition{"audit_log", Kind::text, "", 0, 0, "", true, "file to which a line is appended for each call: who, where, which tool, what came of it"},
    Definition{"backend", Kind::choice, "local", 0, 0, "local|e2b", true, "where sandboxes run"},
    Definition{"behind_proxy", Kind::boolean, "false", 0, 0, "", true, "a proxy that encrypts stands before --http, which may then listen beyond this host"},
    Definition{"default_workspace", Kind::text, "", 0, 0, "", false, "folder of this host, with {principal}, {session} and {profile} in its path, that is /workspace where nobody mounts another there"},
    Definition{"e2b.allow_out", Kind::list, "", 0, 0, "", false, "addresses, ranges and domains that a sandbox of E2B may reach, with --network host; without e2b.deny_out nothing else"},
    Definition{"e2b.deny_out", Kind::list, "", 0, 0, "", false, "addresses and ranges that it may not"},
    Definition{"e2b.lease", Kind::duration, "60s", second, hour, "", false, "a server that has made no call for so long is taken for gone in a sandbox of E2B: who comes then is told what it left"},
    Definition{"e2b.same_account", Kind::list, "", 0, 0, "", false, "what berth calls earlier keys of the team that E2B_API_KEY is one of: a sandbox of theirs that E2B does not show is gone"},
    Definition{"edit.max_file", Kind::bytes, "256MiB", 1, 4 * gibibyte, "", false, "largest file that edit_file takes"},
    Definition{"env", Kind::list, "", 0, 0, "", true, "NAME=VALUE, in the environment of every command"},
    Definition{"exec.max_timeout", Kind::duration, "7200s", second, 24 * hour, "", false, "longest timeout a call may ask for"},
    Definition{"exec.timeout", Kind::duration, "120s", second, 24 * hour, "", false, "timeout of a command that names none"},
    Definition{"filter.allow", Kind::list, "", 0, 0, "", false, "names, addresses and ranges that a sandbox may reach with --network filtered, each with its ports: example.com, *.example.com:443, 203.0.113.0/24:8000-8100; without ports 80 and 443"},
    Definition{"filter.deny", Kind::list, "", 0, 0, "", false, "what it may not, though it be allowed; without ports on none"},
    Definition{"filter.intercept", Kind::boolean, "false", 0, 0, "", false, "the proxy opens TLS to the places that filter.secret names with https://, and to no other, with certificates of the session's own"},
    Definition{"filter.max_sent", Kind::bytes, "0", 0, 1024 * gibibyte, "", false, "what a machine may send to its filtered network; 0: not limited"},
    Definition{"filter.private", Kind::list, "", 0, 0, "", false, "ranges of loopback and of private networks that what is allowed may be in; else no address of theirs is reached"},
    Definition{"filter.secret", Kind::list, "", 0, 0, "", false, "NAME=https://HOST (with filter.intercept) or NAME=http://HOST, with :PORT: the secret NAME goes to that place alone, put into header fields by the proxy, and with ? behind it into the address too; commands have a placeholder of it"},
    Definition{"glob.limit", Kind::number, "1000", 1, 100'000, "", false, "paths in a result"},
    Definition{"grep.limit", Kind::number, "250", 1, 100'000, "", false, "matches in a result"},
    Definition{"grep.line", Kind::number, "500", 20, 10'000, "", false, "characters shown of a line"},
    Definition{"http", Kind::text, "", 0, 0, "", true, "ADDRESS:PORT to serve MCP on over HTTP, at /mcp, instead of standard input; port 0 picks one"},
    Definition{"http_connections", Kind::number, "1024", 8, 65'536, "", false, "connections at once"},
    Definition{"http_hosts", Kind::list, "", 0, 0, "", false, "names by which clients reach the server, beside localhost and its address"},
    Definition{"http_idle", Kind::duration, "30m", 10 * second, 30 * 24 * hour, "", false, "the server leaves a session that nobody called for so long, as a client that goes; its machine lives on by session.ttl"},
    Definition{"http_metrics", Kind::choice, "operator", 0, 0, "operator|anybody", false, "who may read /metrics: operators, or whoever reaches the server"},
    Definition{"http_origins", Kind::list, "", 0, 0, "", false, "origins of web pages that may call, such as https://chat.example.com"},
    Definition{"insecure_no_auth", Kind::boolean, "false", 0, 0, "", true, "whoever reaches --http is let in, as the principal of the server"},
    Definition{"job.max_timeout", Kind::duration, "7200s", second, 30 * 24 * hour, "", false, "life of what a command leaves running; longest a call may ask for"},
    Definition{"job.timeout", Kind::duration, "1800s", second, 30 * 24 * hour, "", false, "life of a background command that names none"},
    Definition{"jwt_audience", Kind::text, "", 0, 0, "", false, "what a JWT access token must be for: the address of the server as clients have it, such as https://berth.example.com/mcp"},
    Definition{"jwt_issuer", Kind::text, "", 0, 0, "", false, "whose JWT access tokens are taken over HTTP, as their iss says it"},
    Definition{"jwt_keys", Kind::text, "", 0, 0, "", false, "file with that issuer's JSON Web Key Set"},
    Definition{"jwt_principal", Kind::text, "sub", 0, 0, "", false, "the claim of such a token that names the principal"},
    Definition{"local.cpus", Kind::number, "2", 0.01, 1024, "", false, "processors of a session"},
    Definition{"local.memory", Kind::bytes, "2GiB", 16 * mebibyte, 1024 * gibibyte, "", false, "memory of a session's commands"},
    Definition{"local.nofile", Kind::number, "4096", 64, 1'048'576, "", false, "open files of a process"},
    Definition{"local.pids", Kind::number, "512", 8, 100'000, "", false, "processes and threads of a session"},
    Definition{"log.format", Kind::choice, "text", 0, 0, "text|json", true, "of the log on stderr"},
    Definition{"log.level", Kind::choice, "info", 0, 0, "debug|info|warning|error|off", true, "least level that is logged"},
    Definition{"mount", Kind::list, "", 0, 0, "", true, "HOST:TARGET[:ro|rw], a folder or file of this host; read-only unless rw is said"},
    Definition{"mount_mode", Kind::choice, "any", 0, 0, "any|ro", false, "ro: no mount may be writable"},
    Definition{"network", Kind::choice, "none", 0, 0, "none|filtered|host", true, "of the sandbox: none, what filter.allow names, or this host's; on e2b no way to the internet, or E2B's own"},
    Definition{"operator_token_file", Kind::text, "", 0, 0, "", true, "TOML file of who may see and end all sessions over HTTP, by the hashes of their tokens; without it nobody may"},
    Definition{"output.budget", Kind::number, "30000", 1000, 400'000, "", false, "characters of a command's output in a result"},
    Definition{"output.control_characters", Kind::choice, "strip", 0, 0, "strip|escape|pass", false, "of a command's output: escape sequences left out, all written visibly, or as they came"},
    Definition{"output.spill_session", Kind::bytes, "1GiB", mebibyte, 1024 * gibibyte, "", false, "full outputs kept for a session"},
    Definition{"output.spill_stream", Kind::bytes, "64MiB", 65'536, 64 * gibibyte, "", false, "full output kept of one stream"},
    Definition{"path_policy", Kind::choice, "", 0, 0, "|home", false, "home: file tools see the home and kept output only"},
    Definition{"principal", Kind::text, "", 0, 0, "", true, "owner of sessions and workspace; default: the OS user"},
    Definition{"profile", Kind::text, "default", 0, 0, "", true, "settings that go by one name: berth's own, or [profiles.NAME] of the file"},
    Definition{"protected.action", Kind::choice, "tell", 0, 0, "tell|refuse|off", false, "of a change to a protected file: told in the result of its call; refused to the tools that write files, and told of commands; or not looked at"},
    Definition{"protected.paths", Kind::list, "~/.bashrc,~/.bash_profile,~/.bash_login,~/.bash_logout,~/.profile,~/.zshenv,~/.zprofile,~/.zshrc,~/.zlogin,~/.config/fish/config.fish,~/.gitconfig,~/.config/git/config,~/.ssh/authorized_keys,~/.ssh/config,~/.ssh/rc,.git/hooks/,.git/config,.husky/,.pre-commit-config.yaml,.envrc,CLAUDE.md,CLAUDE.local.md,AGENTS.md,GEMINI.md,.claude/,.mcp.json,.codex/,.gemini/,.cursor/,.cursorrules,.windsurfrules,.github/copilot-instructions.md,.vscode/,.idea/,.github/workflows/,.gitlab-ci.yml,.circleci/,.travis.yml,.drone.yml,Jenkinsfile,azure-pipelines.yml,bitbucket-pipelines.yml", 0, 0, "", false, "files that programs outside of the sandbox obey: ~/NAME in the home, NAME in every folder, NAME/ all that is in one"},
    Definition{"read.budget", Kind::number, "50000", 1000, 400'000, "", false, "characters of a file in a result"},
    Definition{"read.image", Kind::bytes, "5MiB", 1024, 64 * mebibyte, "", false, "largest picture that is shown"},
    Definition{"read.limit", Kind::number, "2000", 1, 1'000'000, "", false, "lines of a file in a result"},
    Definition{"read_only", Kind::boolean, "false", 0, 0, "", true, "serve only the tools that change nothing"},
    Definition{"registry", Kind::text, "", 0, 0, "", true, "redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE] or unix://PATH: books that several hosts share; default: files in state_dir"},
    Definition{"request.max", Kind::bytes, "32MiB", 65'536, gibibyte, "", false, "longest message from a client"},
    Definition{"require", Kind::list, "", 0, 0, "", true, "layers without which the server does not start"},
    Definition{"rpc.depth", Kind::number, "64", 16, 512, "", false, "nesting of a message"},
    Definition{"rpc.in_flight", Kind::number, "256", 1, 4096, "", false, "requests at once"},
    Definition{"search.time", Kind::duration, "10s", 100, 600 * second, "", false, "longest search of glob_files and grep_files"},
    Definition{"secret", Kind::list, "", 0, 0, "", true, "NAME=env:VARIABLE or NAME=file:/PATH, in the environment of every command, read for each and kept nowhere"},
    Definition{"session.calls", Kind::number, "8", 1, 256, "", false, "commands at once in a session"},
    Definition{"session.home_retention", Kind::duration, "7d", 0, 3650 * 24 * hour, "", false, "the home of a session without a machine for so long is removed; 0: never"},
    Definition{"session.host", Kind::text, "", 0, 0, "", false, "what this host is called in a shared registry; default: known by its name and /etc/machine-id"},
    Definition{"session.idle_pause", Kind::duration, "300s", 0, 30 * 24 * hour, "", false, "a session without call and job for so long is paused; 0: never"},
    Definition{"session.jobs", Kind::number, "16", 1, 1024, "", false, "jobs at once in a session"},
    Definition{"session.key", Kind::text, "{principal}/{session}", 0, 0, "", false, "template of what sessions are kept apart by"},
    Definition{"session.max", Kind::number, "1000", 0, 100'000, "", false, "sessions with a machine at once in this state directory; 0: any number"},
    Definition{"session.max_per_principal", Kind::number, "64", 0, 100'000, "", false, "the same of one principal"},
    Definition{"session.on_disconnect", Kind::choice, "idle", 0, 0, "idle|now|keep|kill", false, "when the last client leaves: pause once idle, pause now (the default on e2b), leave as it is, end"},
    Definition{"session.quota", Kind::bytes, "0", 0, 1024 * gibibyte, "", false, "what the home of a session may have; 0: not limited"},
    Definition{"session.save_on_end", Kind::list, "", 0, 0, "", false, "files, folders and globs of the home that go to the workspace when the machine has ended"},
    Definition{"session.setup", Kind::commands, "", 0, 0, "", false, "commands of bash, one a line, that every fresh machine is made ready with"},
    Definition{"session.setup_timeout", Kind::duration, "600s", second, 24 * hour, "", false, "longest time for all of them"},
    Definition{"session.ttl", Kind::duration, "12h", 60 * second, 30 * 24 * hour, "", false, "a machine without a server for so long ends"},
    Definition{"state_dir", Kind::text, "", 0, 0, "", true, "where sessions and workspace are kept"},
    Definition{"sticky_cwd", Kind::boolean, "true", 0, 0, "", false, "a command's cd holds for the next one"},
    Definition{"structured_content", Kind::boolean, "false", 0, 0, "", true, "send results as structuredContent too"},
    Definition{"template", Kind::text, "", 0, 0, "", true, "folder of this host with a root file system, whose programs sandboxes have; default: this host's own; on e2b a template there, by name or id; default: base"},
    Definition{"token_file", Kind::text, "", 0, 0, "", true, "TOML file of who may call over HTTP, by the hashes of their tokens"},
    Definition{"tool_dialect", Kind::choice, "berth", 0, 0, "berth|claude", true, "names, units and texts of the tools: berth's own, or those built into Claude Code"},
    Definition{"tools", Kind::list, "", 0, 0, "", true, "serve only these tools"},
    Definition{"unix", Kind::text, "", 0, 0, "", true, "PATH of a socket to serve MCP on over HTTP; callers are the users of this host"},
    Definition{"unix_mode", Kind::text, "0600", 0, 0, "", false, "permissions of that socket: who may call"},
    Definition{"var", Kind::list, "", 0, 0, "", true, "NAME=VALUE, a variable of the template session.key"},
    Definition{"workspace", Kind::text, "", 0, 0, "", true, "directory of the workspace; default: <state_dir>/workspace"},
};

constexpr std::array others = {
    OtherVariable{"E2B_API_KEY", "key of the account at E2B, which --backend e2b needs"},
    OtherVariable{"E2B_API_URL", "E2B's control plane; default: https://api.DOMAIN"},
    OtherVariable{"E2B_DOMAIN", "of E2B, or of one that speaks its protocol; default: e2b.app"},
    OtherVariable{"E2B_SANDBOX_URL", "where all of E2B's sandboxes are reached; default: each at its own name"},
    OtherVariable{"HTTPS_PROXY", "on the way to E2B; HTTP_PROXY for addresses with http://"},
    OtherVariable{"NO_PROXY", "names that are reached without"},
    OtherVariable{"SSL_CERT_FILE", "certificates that E2B's is checked against, and those of servers to which the proxy opens TLS; default: this host's"},
};
// clang-format on

static_assert(std::is_sorted(table.begin(), table.end(),
                             [](const Definition& a, const Definition& b) {
                                 return a.key < b.key;
                             }));

std::string adapt(std::string_view key, char joint, bool upper)
{
    std::string name;
    for (const char c : key) {
        if (c == '.' || c == '_') {
            name += joint;
        } else {
            name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        }
    }
    return name;
}

} // namespace

std::span<const Definition> definitions()
{
    return table;
}

std::span<const OtherVariable> other_variables()
{
    return others;
}

const Definition* find_definition(std::string_view key)
{
    const auto* const found =
        std::find_if(table.begin(), table.end(),
                     [&](const Definition& definition) { return definition.key == key; });
    return found == table.end() ? nullptr : found;
}

std::string flag_of(const Definition& definition)
{
    return "--" + adapt(definition.key, '-', false);
}

std::string variable_of(const Definition& definition)
{
    return "BERTH_" + adapt(definition.key, '_', true);
}

} // namespace berth::server
