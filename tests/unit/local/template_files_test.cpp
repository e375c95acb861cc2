#include "sandbox/base/error.hpp"
#include "sandbox/local/template_files.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>

using namespace berth;
using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace fs = std::filesystem;

namespace {

/// A root file system with /bin as a link into /usr.
struct Template : TemporaryTree {
    Template()
    {
        add("usr/bin/bash", "");
        ::chmod((path() + "/usr/bin/bash").c_str(), 0755);
        link("bin", "usr/bin");
    }

    void link(const std::string& name, const std::string& target) const
    {
        fs::create_directories(fs::path(path() + "/" + name).parent_path());
        fs::create_symlink(target, path() + "/" + name);
    }

    [[nodiscard]] HostFiles find() const { return find_template_files(path()); }

    [[nodiscard]] std::string refusal() const
    {
        try {
            (void)find();
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK_FALSE(error.hint().empty());
            return error.what();
        }
        return {};
    }
};

std::vector<std::string> targets(const HostFiles& found)
{
    std::vector<std::string> all;
    for (const auto& bind : found.binds) {
        CHECK_FALSE(bind.writable);
        if (!bind.devices) {
            CHECK_FALSE(bind.follow_links);
            all.push_back(bind.target);
        }
    }
    return all;
}

std::string link_at(const HostFiles& found, const std::string& path)
{
    const auto link = std::find_if(found.links.begin(), found.links.end(),
                                   [&](const SymbolicLink& each) { return each.path == path; });
    return link == found.links.end() ? "" : link->target;
}

} // namespace

TEST_SUITE("local/template_files")
{
    TEST_CASE("what is at its top is shown, but not what a sandbox has of its own")
    {
        const Template root;
        for (const char* name :
             {"opt", "nix", "lib64", "home/ann", "tmp", "root", "proc", "sys", "dev", "run", "mnt",
              "srv", "boot", "media", "var/lib/dpkg", "var/cache/x", "var/log"}) {
            root.add_directory(name);
        }
        root.add("file", "");
        root.link("lib", "usr/lib");
        root.link("data", "/root");
        const auto found = root.find();
        CHECK(targets(found) ==
              std::vector<std::string>{"/lib64", "/nix", "/opt", "/usr", "/var/lib", "/var/cache"});
        CHECK(link_at(found, "/bin") == "usr/bin");
        CHECK(link_at(found, "/lib") == "usr/lib");
        CHECK(found.links.size() == 2);
        CHECK(std::count_if(found.binds.begin(), found.binds.end(), [](const Bind& bind) {
                  return bind.devices;
              }) == static_cast<std::ptrdiff_t>(device_names.size()));
        CHECK(found == root.find());
    }

    TEST_CASE("of its /etc neither users nor secrets are shown, nor what berth writes")
    {
        const Template root;
        for (const char* name : {"passwd", "passwd-", "group", "shadow", "shadow-", "gshadow",
                                 "sudoers", "sudoers.d/all", "hosts", "hostname", "resolv.conf",
                                 "nsswitch.conf", "machine-id", "gitconfig", "berth/bin/apt",
                                 "ssl/private/key", "ssh/ssh_host_rsa_key", "krb5.keytab"}) {
            root.add(std::string("etc/") + name, "");
        }
        CHECK(targets(root.find()) == std::vector<std::string>{"/usr"});
        for (const char* name : {"ssl/certs/a.pem", "ssl/openssl.cnf", "ssh/ssh_config",
                                 "myapp/conf", "ld.so.cache", "hosts.allow"}) {
            root.add(std::string("etc/") + name, "");
        }
        root.link("etc/localtime", "/usr/share/zoneinfo/Asia/Tokyo");
        root.link("etc/os-release", "../usr/lib/os-release");
        ::mkfifo((root.path() + "/etc/fifo").c_str(), 0644);
        const auto found = root.find();
        CHECK(targets(found) == std::vector<std::string>{"/usr", "/etc/hosts.allow",
                                                         "/etc/ld.so.cache", "/etc/myapp",
                                                         "/etc/ssh/ssh_config", "/etc/ssl/certs",
                                                         "/etc/ssl/openssl.cnf"});
        CHECK(found.localtime_target == "/usr/share/zoneinfo/Asia/Tokyo");
        CHECK(link_at(found, "/etc/os-release") == "../usr/lib/os-release");
        CHECK(link_at(found, "/etc/localtime").empty());
    }

    TEST_CASE("no link is followed, nor what is behind it looked at")
    {
        const TemporaryTree outside;
        outside.add("name", "secret");
        outside.add("dpkg/status", "secret");
        fs::create_symlink("hidden-target", outside.path() + "/link");
        const Template root;
        for (const char* name : {"etc", "opt", "nix", "var"}) {
            root.link(name, outside.path());
        }
        const auto found = root.find();
        CHECK(targets(found) == std::vector<std::string>{"/usr"});
        CHECK(link_at(found, "/opt") == outside.path());
        CHECK(found.links.size() == 2);

        const Template deeper;
        deeper.link("var/lib", outside.path());
        deeper.link("etc/ssl", outside.path());
        deeper.link("etc/alternatives", "../../.." + outside.path());
        const auto links = deeper.find();
        CHECK(targets(links) == std::vector<std::string>{"/usr"});
        CHECK(link_at(links, "/etc/ssl") == outside.path());
        CHECK(link_at(links, "/etc/ssl/link").empty());
    }

    TEST_CASE("without a shell that can be run it is none")
    {
        const Template root;
        CHECK(root.refusal().empty());
        ::chmod((root.path() + "/usr/bin/bash").c_str(), 0644);
        CHECK(root.refusal().ends_with("/bin/bash cannot be run by the session's user"));
        fs::remove(root.path() + "/usr/bin/bash");
        CHECK(root.refusal() == "template " + root.path() +
                                    ": /bin/bash is missing in it, and no command can run without");
        // A link is one inside: the host's bash is none of it.
        root.link("usr/bin/bash", "/usr/local/bash");
        CHECK(root.refusal().find("is missing") != std::string::npos);
        root.add("usr/local/bash", "");
        ::chmod((root.path() + "/usr/local/bash").c_str(), 0755);
        CHECK(root.refusal().empty());
        // Where it would be is not shown inside.
        fs::remove(root.path() + "/usr/bin/bash");
        root.add("root/bash", "");
        ::chmod((root.path() + "/root/bash").c_str(), 0755);
        root.link("usr/bin/bash", "/root/bash");
        CHECK(root.refusal().find("cannot be run") != std::string::npos);
        fs::remove_all(root.path() + "/usr");
        root.link("usr", "/usr");
        CHECK(root.refusal().find("is missing") != std::string::npos);
    }

    TEST_CASE("a shell for another processor is told as one")
    {
        const Template root;
        std::string head = "\177ELF" + std::string(16, '\0');
        head[18] = '\x15'; // EM_PPC64, of no class
        root.add("usr/bin/bash", head);
        CHECK(root.refusal().ends_with("/bin/bash is a program for another kind of processor"));
        root.add("usr/bin/bash", "#!/bin/sh\n");
        CHECK(root.refusal().empty());
        fs::copy_file("/proc/self/exe", root.path() + "/usr/bin/bash",
                      fs::copy_options::overwrite_existing);
        CHECK(root.refusal().empty());
    }

    TEST_CASE("a folder that is none, or has more than a root can hold, is refused")
    {
        CHECK_THROWS_AS((void)find_template_files("/nowhere"), Error);
        const Template root;
        const TemporaryTree links;
        fs::create_symlink(root.path(), links.path() + "/link");
        CHECK_THROWS_AS((void)find_template_files(links.path() + "/link"), Error);
        for (int i = 0; i < 2001; ++i) {
            root.add("etc/" + std::to_string(i), "");
        }
        CHECK(root.refusal().find("more than 2000 entries") != std::string::npos);
    }
}
