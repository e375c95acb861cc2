#include "sandbox/direct/direct_backend.hpp"
#include "server/app.hpp"
#include "server/installation.hpp"

// The whole server on a machine that is none, for the suite that every backend must pass and for
// hosts where no sandbox can be made. Never installed: it confines nothing.
int main(int argc, char** argv)
{
    using namespace berth; // NOLINT(google-build-using-namespace): a composition root
    return server::run(
        argc, argv,
        {.make_backend = [](const server::Options& options) -> std::shared_ptr<sandbox::Backend> {
             return direct::make_backend(
                 server::helper_program("berth-guest", server::process_environment()),
                 options.sessions.state_directory + "/machines");
         },
         .examine = [](const server::Options&,
                       sandbox::Backend&) { return std::vector<server::Check>(); }});
}
