#include "sandbox/guest/search/file_types.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/spelling.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fnmatch.h>

namespace berth::guest::search {

namespace {

struct FileType {
    std::string_view name;
    std::string_view globs; ///< separated by spaces
};

/// Sorted by name.
constexpr FileType file_types[] = {
    {"agda", "*.agda *.lagda"},
    {"asciidoc", "*.adoc *.asc *.asciidoc"},
    {"asm", "*.S *.asm *.s"},
    {"awk", "*.awk"},
    {"bazel", "*.BUILD *.bazel *.bazelrc *.bzl BUILD WORKSPACE"},
    {"c", "*.[chH] *.[chH].in *.cats"},
    {"clojure", "*.clj *.cljc *.cljs *.cljx"},
    {"cmake", "*.cmake CMakeLists.txt"},
    {"coffeescript", "*.coffee"},
    {"config", "*.cfg *.conf *.config *.ini"},
    {"cpp", "*.[ChH] *.[ChH].in *.[ch]pp *.[ch]pp.in *.[ch]xx *.[ch]xx.in *.cc *.cc.in *.hh "
            "*.hh.in *.inl"},
    {"crystal", "*.cr Projectfile"},
    {"cs", "*.cs"},
    {"csharp", "*.cs"},
    {"css", "*.css *.scss"},
    {"csv", "*.csv"},
    {"cython", "*.pxd *.pxi *.pyx"},
    {"d", "*.d"},
    {"dart", "*.dart"},
    {"diff", "*.diff *.patch"},
    {"docker", "*Dockerfile*"},
    {"elisp", "*.el"},
    {"elixir", "*.eex *.ex *.exs"},
    {"elm", "*.elm"},
    {"erlang", "*.erl *.hrl"},
    {"fish", "*.fish"},
    {"flatbuffers", "*.fbs"},
    {"fortran", "*.F *.F77 *.F90 *.F95 *.f *.f77 *.f90 *.f95 *.pfo"},
    {"fsharp", "*.fs *.fsi *.fsx"},
    {"go", "*.go"},
    {"gradle", "*.gradle"},
    {"groovy", "*.gradle *.groovy"},
    {"h", "*.h *.hpp"},
    {"haml", "*.haml"},
    {"haskell", "*.c2hs *.cpphs *.hs *.hsc *.lhs"},
    {"hs", "*.hs *.lhs"},
    {"html", "*.ejs *.htm *.html"},
    {"java", "*.java *.jsp *.jspx *.properties"},
    {"jinja", "*.j2 *.jinja *.jinja2"},
    {"jl", "*.jl"},
    {"js", "*.js *.jsx *.vue"},
    {"json", "*.json composer.lock"},
    {"jsonl", "*.jsonl"},
    {"julia", "*.jl"},
    {"jupyter", "*.ipynb *.jpynb"},
    {"kotlin", "*.kt *.kts"},
    {"less", "*.less"},
    {"license", "*[.-]LICEN[CS]E* AGPL-*[0-9]* APACHE-*[0-9]* BSD-*[0-9]* CC-BY-* COPYING "
                "COPYING[.-]* COPYRIGHT COPYRIGHT[.-]* EULA EULA[.-]* GFDL-*[0-9]* GNU-*[0-9]* "
                "GPL-*[0-9]* LGPL-*[0-9]* LICEN[CS]E LICEN[CS]E[.-]* MIT-*[0-9]* MPL-*[0-9]* "
                "NOTICE NOTICE[.-]* OFL-*[0-9]* PATENTS PATENTS[.-]* UNLICEN[CS]E "
                "UNLICEN[CS]E[.-]* agpl[.-]* gpl[.-]* lgpl[.-]* licen[cs]e licen[cs]e.*"},
    {"lisp", "*.el *.jl *.lisp *.lsp *.sc *.scm"},
    {"lock", "*.lock package-lock.json"},
    {"log", "*.log"},
    {"lua", "*.lua"},
    {"m4", "*.ac *.m4"},
    {"make", "*.mak *.mk [Gg][Nn][Uu]makefile [Gg][Nn][Uu]makefile.am [Gg][Nn][Uu]makefile.in "
             "[Mm]akefile [Mm]akefile.am [Mm]akefile.in"},
    {"man", "*.[0-9][cEFMmpSx] *.[0-9lnpx]"},
    {"markdown", "*.markdown *.md *.mdown *.mkdn"},
    {"matlab", "*.m"},
    {"md", "*.markdown *.md *.mdown *.mkdn"},
    {"meson", "meson.build meson_options.txt"},
    {"ml", "*.ml"},
    {"nim", "*.nim *.nimble *.nimf *.nims"},
    {"nix", "*.nix"},
    {"objc", "*.h *.m"},
    {"objcpp", "*.h *.mm"},
    {"ocaml", "*.ml *.mli *.mll *.mly"},
    {"org", "*.org *.org_archive"},
    {"pascal", "*.dpr *.inc *.lpr *.pas *.pp"},
    {"perl", "*.PL *.perl *.pl *.plh *.plx *.pm *.t"},
    {"php", "*.php *.php3 *.php4 *.php5 *.phtml"},
    {"po", "*.po"},
    {"protobuf", "*.proto"},
    {"ps", "*.cdxml *.ps1 *.ps1xml *.psd1 *.psm1"},
    {"puppet", "*.erb *.pp *.rb"},
    {"py", "*.py"},
    {"qml", "*.qml"},
    {"r", "*.R *.Rmd *.Rnw *.r"},
    {"racket", "*.rkt"},
    {"readme", "*README README*"},
    {"rst", "*.rst"},
    {"ruby", "*.gemspec *.rb *.rbw .irbrc Gemfile Rakefile config.ru"},
    {"rust", "*.rs"},
    {"sass", "*.sass *.scss"},
    {"scala", "*.sbt *.scala"},
    {"sh", "*.bash *.bashrc *.csh *.cshrc *.ksh *.kshrc *.sh *.tcsh *.zsh .bash_login .bash_logout "
           ".bash_profile .bashrc .cshrc .kshrc .login .logout .profile .tcshrc .zlogin .zlogout "
           ".zprofile .zshenv .zshrc bash_login bash_logout bash_profile bashrc profile zlogin "
           "zlogout zprofile zshenv zshrc"},
    {"sql", "*.psql *.sql"},
    {"svg", "*.svg"},
    {"swift", "*.swift"},
    {"systemd", "*.automount *.conf *.device *.link *.mount *.path *.scope *.service *.slice "
                "*.socket *.swap *.target *.timer"},
    {"tcl", "*.tcl"},
    {"tex", "*.bib *.cls *.dtx *.ins *.ltx *.sty *.tex"},
    {"textile", "*.textile"},
    {"tf", "*.tf"},
    {"thrift", "*.thrift"},
    {"toml", "*.toml Cargo.lock"},
    {"ts", "*.ts *.tsx"},
    {"twig", "*.twig"},
    {"txt", "*.txt"},
    {"vala", "*.vala"},
    {"vb", "*.vb"},
    {"verilog", "*.sv *.svh *.v *.vh"},
    {"vhdl", "*.vhd *.vhdl"},
    {"vim", "*.vim"},
    {"webidl", "*.idl *.webidl *.widl"},
    {"wiki", "*.mediawiki *.wiki"},
    {"xml", "*.dtd *.rng *.sch *.xhtml *.xjb *.xml *.xml.dist *.xsd *.xsl *.xslt"},
    {"yacc", "*.y"},
    {"yaml", "*.yaml *.yml"},
    {"zig", "*.zig"},
    {"zsh", "*.zsh .zlogin .zlogout .zprofile .zshenv .zshrc zlogin zlogout zprofile zshenv zshrc"},
};

/// What languages and files are called that have another type here. In small letters.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {
    {"assembler", "asm"},
    {"assembly", "asm"},
    {"c#", "cs"},
    {"c++", "cpp"},
    {"delphi", "pascal"},
    {"ecmascript", "js"},
    {"emacs", "elisp"},
    {"f#", "fsharp"},
    {"golang", "go"},
    {"hcl", "tf"},
    {"javascript", "js"},
    {"jsonlines", "jsonl"},
    {"latex", "tex"},
    {"node", "js"},
    {"nodejs", "js"},
    {"notebook", "jupyter"},
    {"objective-c", "objc"},
    {"objective-c++", "objcpp"},
    {"objectivec", "objc"},
    {"plain", "txt"},
    {"plaintext", "txt"},
    {"powershell", "ps"},
    {"pwsh", "ps"},
    {"python", "py"},
    {"python3", "py"},
    {"restructuredtext", "rst"},
    {"scheme", "lisp"},
    {"shell", "sh"},
    {"terraform", "tf"},
    {"text", "txt"},
    {"typescript", "ts"},
    {"visualbasic", "vb"},
};

std::string small(std::string_view text)
{
    std::string folded(text);
    for (char& c : folded) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return folded;
}

std::vector<std::string> globs_of(const FileType& type)
{
    std::vector<std::string> globs;
    std::string_view rest = type.globs;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        globs.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return globs;
}

/// The types that a file with this ending has; those first that begin as it does ("rb": ruby, then
/// puppet).
std::vector<std::string> types_of_ending(const std::string& ending)
{
    std::vector<std::string> types;
    std::vector<std::string> others;
    for (const FileType& type : file_types) {
        const auto globs = globs_of(type);
        const auto matches = [&](const std::string& glob) {
            return ::fnmatch(glob.c_str(), ("x." + ending).c_str(), 0) == 0 ||
                   ::fnmatch(glob.c_str(), ending.c_str(), 0) == 0; // Makefile
        };
        if (std::ranges::any_of(globs, matches)) {
            (type.name.front() == ending.front() ? types : others).emplace_back(type.name);
        }
    }
    types.insert(types.end(), others.begin(), others.end());
    return types;
}

/// The types that `word` can mean: by its name in other letters, its ending, what others call it,
/// or but for slips. `names`: those of types that begin with the same letter.
std::vector<std::string> meant_by(std::string_view word, const std::vector<std::string>& names)
{
    constexpr std::size_t longest = 64; // no ending has as many letters
    if (word.empty() || word.size() > longest) {
        return {};
    }
    const auto folded = small(word);
    if (std::ranges::find(names, folded) != names.end()) {
        return {folded};
    }
    for (const auto& ending : {std::string(word), folded}) {
        if (auto types = types_of_ending(ending); !types.empty()) {
            return types;
        }
    }
    for (const auto& [other, type] : other_names) {
        if (other == folded) {
            return {std::string(type)};
        }
    }
    const auto near = nearest(word, names);
    return near.empty() ? std::vector<std::string>() : std::vector{near};
}

std::string hint_for(std::string_view type)
{
    // Who gives several means the first one at least, and "*.rs" and ".rs" are endings too.
    const bool several = type.find_first_of(", ") != std::string_view::npos;
    auto first = type.substr(0, type.find_first_of(", "));
    first.remove_prefix(first.starts_with("*.") ? 2 : first.starts_with('.') ? 1 : 0);
    const auto letter = small(first.substr(0, 1));
    std::vector<std::string> names;
    for (const FileType& known : file_types) {
        if (!letter.empty() && known.name.starts_with(letter)) {
            names.emplace_back(known.name);
        }
    }
    const auto meant = meant_by(first, names);
    return (several ? "a type is one name; " : "") +
           (meant.empty() ? "" : "did you mean " + joined(meant, " or ") + "? ") +
           (names.empty() ? "types are names such as c, py or rust"
                          : "known types that begin alike: " + joined(names, ", ")) +
           "; or give `include` " + (several ? "globs such as *.{c,h}" : "a glob such as *.ext");
}

} // namespace

std::vector<std::string> file_type_globs(std::string_view type)
{
    const auto* const found = std::ranges::lower_bound(file_types, type, {}, &FileType::name);
    if (found == std::end(file_types) || found->name != type) {
        throw Error(ErrorCode::invalid_argument,
                    "unknown file type \"" + visible_beginning(type, 60) + "\"", hint_for(type));
    }
    return globs_of(*found);
}

} // namespace berth::guest::search
