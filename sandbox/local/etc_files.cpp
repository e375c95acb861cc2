#include "sandbox/local/etc_files.hpp"

#include "sandbox/local/environment.hpp"
#include "sandbox/protocol/filtered_network.hpp"

namespace berth::local {
namespace {

std::string passwd()
{
    const std::string user(inner_user);
    return "root:x:0:0:root:/root:/usr/sbin/nologin\n" + user + ":x:1000:1000:" + user + ":" +
           std::string(inner_home) +
           ":/bin/bash\n"
           "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
}

std::string group()
{
    return "root:x:0:\n" + std::string(inner_user) + ":x:1000:\nnogroup:x:65534:\n";
}

std::string hosts()
{
    const std::string name(inner_host_name);
    return "127.0.0.1 localhost " + name + "\n::1 localhost ip6-localhost ip6-loopback " + name +
           "\n";
}

std::string name_services(sandbox::Network network)
{
    // Without a network a look-up in the DNS would only wait for its timeout. Of a filtered one it
    // is refused, and told.
    const std::string host_names = network == sandbox::Network::none ? "files" : "files dns";
    return "passwd: files\ngroup: files\nshadow: files\nhosts: " + host_names +
           "\nprotocols: files\nservices: files\n";
}

std::string git_configuration()
{
    // A mount's files may belong to nobody inside; git would refuse them, and whoever could harm
    // this user through a repository already is this user.
    return "[safe]\n\tdirectory = *\n[user]\n\tname = user\n\temail = user@berth.invalid\n"
           "[init]\n\tdefaultBranch = main\n";
}

TextFile substitute(const std::string& name, const std::string& answer)
{
    return {std::string(inner_programs) + "/" + name,
            "#!/bin/sh\necho '" + name + ": " + answer + "' >&2\nexit 1\n", true};
}

} // namespace

std::vector<TextFile> generated_etc_files(sandbox::Network network, const std::string& resolv_conf)
{
    return {
        {"/etc/passwd", passwd()},
        {"/etc/group", group()},
        {"/etc/hosts", hosts()},
        {"/etc/nsswitch.conf", name_services(network)},
        {"/etc/hostname", std::string(inner_host_name) + "\n"},
        {"/etc/gitconfig", git_configuration()},
        {"/etc/shells", "/bin/sh\n/bin/bash\n/usr/bin/sh\n/usr/bin/bash\n"},
        {"/etc/resolv.conf", resolv_conf},
        {"/etc/machine-id", ""},
    };
}

std::vector<SymbolicLink> generated_etc_links(const std::string& localtime_target)
{
    const bool known = localtime_target.starts_with("/usr/share/zoneinfo/");
    return {
        {"/etc/localtime", known ? localtime_target : "/usr/share/zoneinfo/UTC"},
        {"/etc/mtab", "/proc/self/mounts"},
        {"/etc/os-release", "../usr/lib/os-release"},
    };
}

std::vector<TextFile> substitute_programs()
{
    const std::string no_packages =
        "system packages cannot be installed in this sandbox; pip, npm or cargo install into the "
        "home, where there is a network";
    return {
        substitute("sudo",
                   "this sandbox has one user without privileges; run the command as it is"),
        substitute("apt", no_packages),
        substitute("apt-get", no_packages),
    };
}

TextFile tunnel_program()
{
    // Ends with whichever side ends: ssh waits for the end of its output, and nobody for the rest
    // of an answer once ssh has gone. Only `no_proxy`'s hosts are the sandbox's own.
    static constexpr std::string_view script = R"(#!/bin/bash
host=$1 port=$2
case ",$no_proxy," in
*",$host,"*) exec 3<>"/dev/tcp/$host/$port" || exit 1 ;;
*)
    exec 3<>/dev/tcp/127.0.0.1/PORT || exit 1
    case $host in *:*) host="[$host]" ;; esac
    printf 'CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n' "$host" "$port" "$host" "$port" >&3
    IFS= read -r -u 3 status
    while IFS= read -r -u 3 line && [ "$line" != $'\r' ]; do :; done
    case $status in 'HTTP/1.1 200 '*) ;; *) cat <&3 >&2; exit 1 ;; esac
    ;;
esac
cat <&3 &
exec >&-
cat >&3
kill $! 2>/dev/null
)";
    std::string text(script);
    text.replace(text.find("PORT"), 4, std::to_string(protocol::proxy_port));
    return {std::string(inner_programs) + "/" + std::string(protocol::tunnel_program), text, true};
}

} // namespace berth::local
