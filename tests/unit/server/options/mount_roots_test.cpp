#include "server/options/mount_roots.hpp"
#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::server;
using berth::server::tests::Bench;
using berth::server::tests::has;

namespace fs = std::filesystem;

namespace {

struct Roots : Bench {
    const std::string root = fs::canonical(directory).string() + "/srv";

    Roots()
    {
        fs::create_directories(root + "/project");
        fs::create_directories(root + "-else");
    }

    void use(const std::string& profile, const std::string& roots)
    {
        file((roots.empty() ? "" : "allowed_mount_roots = [\"" + roots + "\"]\n") +
             "profile = \"team\"\n[profiles.team]\n" + profile);
    }

    void flag(const std::string& key, const std::string& value)
    {
        given.values[key] = {.items = {value}, .origin = "flag --" + key};
    }
};

} // namespace

TEST_SUITE("server/options/mount_roots")
{
    TEST_CASE("a profile mounts nothing where there are no roots")
    {
        Roots bench;
        bench.use("mount = [\"" + bench.root + "/project:/mnt/p\"]\n", "");
        CHECK(has(bench.refusal(), "profiles may mount nothing, since no allowed_mount_roots"));
        bench.use("default_workspace = \"" + bench.root + "/{principal}\"\n", "");
        CHECK(has(bench.refusal(), "no allowed_mount_roots are given"));
        bench.use("", "");
        bench.flag("mount", bench.root + "/project:/mnt/p"); // the operator's own word
        CHECK(bench.make().sessions.mounts.size() == 1);
    }

    TEST_CASE("with roots everything that is mounted is below one")
    {
        Roots bench;
        bench.use("mount = [\"" + bench.root + "/project:/mnt/p\"]\n", bench.root + "/");
        CHECK(bench.make().sessions.mounts.size() == 1);
        for (const auto& outside :
             {std::string("/usr"), bench.root + "-else", bench.root + "/.."}) {
            bench.flag("mount", outside + ":/mnt/p");
            CHECK(has(bench.refusal(), outside == bench.root + "/.."
                                           ? "state directory"
                                           : "below none of " + bench.root));
        }
        bench.flag("mount", bench.root + ":/mnt/p"); // the root itself
        CHECK(bench.make().sessions.mounts.at(0).source == bench.root);
    }

    TEST_CASE("a profile's template is below a root")
    {
        Roots bench;
        const auto project = bench.root + "/project";
        bench.use("template = \"" + project + "\"\n", "");
        CHECK(has(bench.refusal(), "template " + project + " (profile team, "));
        CHECK(has(bench.refusal(), "profiles may mount nothing, since no allowed_mount_roots"));
        bench.use("template = \"" + project + "\"\n", bench.root + "-else");
        CHECK(has(bench.refusal(), "it is below none of " + bench.root + "-else"));
        bench.use("template = \"" + project + "\"\n", bench.root);
        CHECK(bench.make().sessions.template_name == project);
        fs::create_symlink("/usr", bench.root + "/link");
        bench.use("template = \"" + bench.root + "/link\"\n", bench.root);
        CHECK(has(bench.refusal(), "template /usr"));
        bench.use("", "");
        bench.flag("template", project); // the operator's own word
        CHECK(bench.make().sessions.template_name == project);
    }

    TEST_CASE("a link below a root leads nowhere else")
    {
        Roots bench;
        fs::create_symlink("/usr", bench.root + "/link");
        bench.use("mount = [\"" + bench.root + "/link:/mnt/p\"]\n", bench.root);
        CHECK(has(bench.refusal(), "mount of /usr"));
        bench.use("default_workspace = \"" + bench.root + "/link/{profile}\"\n", bench.root);
        CHECK(has(bench.refusal(), "cannot be made"));
        CHECK_FALSE(fs::exists("/usr/team"));
    }

    TEST_CASE("a root that is not there is what is to be made")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root + "/none/{profile}\"\n",
                  bench.root + "/none");
        CHECK(has(bench.refusal(), "the root " + bench.root + "/none does not exist\nMake that"));
        fs::create_directory(bench.root + "/none");
        CHECK(bench.make().sessions.mounts.size() == 1);
    }

    TEST_CASE("a root that is a link is where it leads")
    {
        Roots bench;
        fs::create_symlink(bench.root, bench.root + "-link");
        bench.use("mount = [\"" + bench.root + "/project:/mnt/p\"]\n", bench.root + "-link");
        CHECK(bench.make().sessions.mounts.size() == 1);
    }

    TEST_CASE("roots are absolute, and no profile's to say")
    {
        Roots bench;
        bench.use("", "srv");
        CHECK(has(bench.refusal(), "\"srv\""));
        CHECK(has(bench.refusal(), "is not an absolute path"));
        bench.use("allowed_mount_roots = [\"/\"]\n", "");
        CHECK(has(bench.refusal(), "is not a profile's to say"));
    }

    TEST_CASE("the workspace of a session is made, for nobody else, and mounted")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root + "/{principal}/{profile}\"\n", bench.root);
        bench.flag("principal", "ann");
        const auto options = bench.make();
        REQUIRE(options.sessions.mounts.size() == 1);
        const auto& mount = options.sessions.mounts.front();
        CHECK(mount.source == bench.root + "/ann/team");
        CHECK(mount.target == "/workspace");
        CHECK(mount.writable);
        CHECK(options.sessions.asked.contains("mount"));
        struct stat status{};
        REQUIRE(::stat(mount.source.c_str(), &status) == 0);
        CHECK((status.st_mode & 07777U) == 0700);
        bench.flag("mount_mode", "ro");
        CHECK_FALSE(bench.make().sessions.mounts.front().writable);
        bench.flag("mount", bench.root + "/project:/workspace");
        CHECK(bench.make().sessions.mounts.size() == 1);
        CHECK(bench.make().sessions.mounts.front().source == bench.root + "/project");
    }

    TEST_CASE("a workspace that root's sessions may only read is made so that they can")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root + "/{principal}/{profile}\"\n", bench.root);
        bench.flag("principal", "ann");
        bench.flag("mount_mode", "ro");
        const auto mask = ::umask(077);
        const auto source = bench.make().sessions.mounts.at(0).source;
        ::umask(mask);
        const auto mode = [](const std::string& path) {
            struct stat status{};
            REQUIRE(::stat(path.c_str(), &status) == 0);
            return status.st_mode & 07777U;
        };
        CHECK(mode(source) == (::geteuid() == 0 ? 0755U : 0700U));
        CHECK(mode(bench.root + "/ann") == 0700);
        // One that was there is its owner's.
        fs::permissions(source, fs::perms::owner_all);
        CHECK(bench.make().sessions.mounts.size() == 1);
        CHECK(mode(source) == 0700);
    }

    TEST_CASE("no name leads out of its place, and no two to one")
    {
        const RawValue roots{.items = {"/srv"}, .origin = "file"};
        const RawValue templ{.items = {"/srv/{session}"}, .origin = "file"};
        const auto of = [&](const std::string& name) {
            return MountRoots(roots).workspace(templ, {"ann", name, ""}, "p",
                                               MountRoots::Missing::is_left);
        };
        CHECK(of("..") == "/srv/%2E.");
        CHECK(of("../../etc") == "/srv/%2E.%2F..%2Fetc");
        CHECK(of("a.b-c_1") == "/srv/a.b-c_1");
        CHECK(of("a b") == "/srv/a%20b");
        CHECK(of("a%20b") == "/srv/a%2520b");
        CHECK(of("{principal}") == "/srv/%7Bprincipal%7D");
        CHECK_THROWS_WITH_AS((void)of(""), doctest::Contains("no value for {session}"), Error);
    }

    TEST_CASE("sessions of one name that a session.key tells apart have folders of their own")
    {
        Roots bench;
        bench.file("session.key = \"{principal}/{team}/{session}\"\nallowed_mount_roots = [\"" +
                   bench.root + "\"]\ndefault_workspace = \"" + bench.root +
                   "/{principal}/{session}\"\n");
        const auto of = [&](const std::string& team, const std::string& name) {
            bench.given.session = name;
            bench.given.values["var"] = {.items = {"team=" + team}, .origin = "flag --var"};
            return fs::path(bench.make().sessions.mounts.at(0).source).filename().string();
        };
        const auto red = of("red", "work");
        CHECK(red.starts_with("work~"));
        CHECK(red.size() == 21);
        CHECK(of("blue", "work") != red);
        CHECK(of("red", "work") == red);
        CHECK(of("red", std::string(255, 'a')).size() == 255);
    }

    TEST_CASE("a name that is too long for a folder is cut, and two of them stay two")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root + "/of-{session}/here\"\n", bench.root);
        const auto of = [&](const std::string& name) {
            bench.given.session = name;
            const auto source = bench.make().sessions.mounts.at(0).source;
            CHECK(fs::is_directory(source));
            return fs::path(source).parent_path().filename().string();
        };
        const std::string longest(252, 'a');
        CHECK(of(longest) == "of-" + longest); // as it always was
        const auto cut = of(longest + "bcd");
        CHECK(cut.size() == 255);
        CHECK(cut.starts_with("of-" + std::string(219, 'a') + "~"));
        CHECK(of(longest + "bce") != cut);
        std::string umlauts;
        for (int i = 0; i < 128; ++i) {
            umlauts += "\u00fc"; // each six characters of a coded name
        }
        CHECK(of(umlauts).size() == 255);
        bench.use("default_workspace = \"" + bench.root + "/" + std::string(240, 'x') +
                      "{session}\"\n",
                  bench.root);
        bench.given.session = longest;
        CHECK(has(bench.refusal(), "too long for a folder"));
    }

    TEST_CASE("a link that comes while a workspace is made leads nowhere")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root + "/{profile}//work/\"\n", bench.root);
        const auto folder = bench.root + "/team";
        const auto link = bench.root + "/link";
        fs::create_directories(folder + "/work");
        fs::create_directories(bench.root + "-else/work");
        fs::create_symlink(bench.root + "-else", link);
        const std::jthread other([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                (void)::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(),
                                  RENAME_EXCHANGE);
            }
        });
        std::set<std::string> sources;
        for (int round = 0; round < 1000; ++round) {
            try {
                sources.insert(bench.make().sessions.mounts.front().source);
            } catch (const Error& error) {
                CHECK(error.code() == ErrorCode::invalid_argument);
            }
        }
        CHECK(sources == std::set<std::string>{folder + "/work"});
    }

    TEST_CASE("a path that is none of a workspace is refused")
    {
        const RawValue roots{.items = {"/srv"}, .origin = "file"};
        for (const std::string path : {"srv/a", "/srv/../etc", "/etc/{principal}", "/srv/{team}",
                                       "/srvx", "/srv/./a", "/srv/{principal}-{session}"}) {
            const RawValue templ{.items = {path}, .origin = "file"};
            CHECK_THROWS_AS((void)MountRoots(roots).workspace(templ, {"ann", "work", ""}, "p",
                                                              MountRoots::Missing::is_left),
                            Error);
        }
    }

    TEST_CASE("who only looks makes nothing")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root + "/{profile}\"\n", bench.root);
        bench.given.only_looks = true;
        CHECK(bench.make().sessions.mounts.size() == 1);
        CHECK_FALSE(fs::exists(bench.root + "/team"));
        // Who lists or clears up sessions has none, and is not to be kept from it.
        bench.use("default_workspace = \"" + bench.root + "/{session}\"\n", bench.root);
        CHECK(bench.make().sessions.mounts.empty());
        bench.given.only_looks = false;
        CHECK(has(bench.refusal(), "no value for {session}"));
    }

    TEST_CASE("who tells of settings tells a workspace as it is written, where no session is named")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root + "/{session}\"\n", bench.root);
        bench.given.shows = true;
        const auto options = bench.make();
        CHECK(options.sessions.mounts.empty());
        const auto shown = std::ranges::find(options.settings, "default_workspace", &Setting::key);
        REQUIRE(shown != options.settings.end());
        CHECK(shown->value == bench.root + "/{session}");
        CHECK_FALSE(fs::exists(bench.root + "/any"));
        bench.given.session = "one"; // of which a server would have it
        CHECK(bench.make().sessions.mounts.at(0).source == bench.root + "/one");
        // What is wrong in it for every session is told all the same.
        bench.given.session.reset();
        for (const auto& path : {bench.root + "/{session}/../x", bench.root + "/{session}{x}",
                                 std::string("/elsewhere/{session}")}) {
            bench.use("default_workspace = \"" + path + "\"\n", bench.root);
            CHECK(has(bench.refusal(), "default_workspace = \"" + path));
        }
    }

    TEST_CASE("nothing takes the place of a workspace that is locked")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root +
                      "/{profile}\"\nlocked = [\"default_workspace\"]\n",
                  bench.root);
        bench.flag("mount", bench.root + "/project:/workspace/");
        CHECK(has(bench.refusal(), "/workspace is the place of default_workspace"));
        CHECK(has(bench.refusal(), "which profile team has locked"));
        bench.flag("mount", bench.root + "/project:/mnt/project");
        CHECK(bench.make().sessions.mounts.size() == 2);
    }

    TEST_CASE("nor of one that the settings file locks for everybody")
    {
        Roots bench;
        bench.file("allowed_mount_roots = [\"" + bench.root + "\"]\ndefault_workspace = \"" +
                   bench.root + "/all\"\nlocked = [\"default_workspace\"]\n");
        bench.flag("mount", bench.root + "/project:/workspace:rw");
        CHECK(has(bench.refusal(), "which the settings file ("));
        CHECK(has(bench.refusal(), "berth.toml:3) has locked"));
        bench.flag("mount", bench.root + "/project:/mnt/project");
        CHECK(bench.make().sessions.mounts.size() == 2);
    }

    TEST_CASE("of a name that anybody may make up no folder is made before its first machine")
    {
        Roots bench;
        bench.use("default_workspace = \"" + bench.root + "/{session}\"\n", bench.root);
        std::string name = "one";
        SUBCASE("of a caller's session")
        {
            bench.given.makes_nothing_yet = true;
            bench.given.session = name;
        }
        SUBCASE("of the session that whoever starts a server for others would have")
        {
            bench.given.is_server = true;
            bench.given.values["http"] = {{"127.0.0.1:0"}, "flag --http"};
            bench.given.values["insecure_no_auth"] = {{"true"}, "flag --insecure-no-auth"};
            name = "default";
        }
        const auto options = bench.make();
        CHECK(options.sessions.mounts.at(0).source == bench.root + '/' + name);
        CHECK_FALSE(fs::exists(bench.root + '/' + name));
        REQUIRE(options.sessions.make_workspace);
        options.sessions.make_workspace();
        CHECK(fs::is_directory(bench.root + '/' + name));
    }
}
