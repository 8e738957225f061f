// pool: creates, lists, imports and changes storage pools. One file per subcommand; this table names them.
#include "cmd/common/command.h"
#include "cmd/pool/commands.h"

namespace tarn {

const std::vector<Subcommand>& pool_commands() {
  static const std::vector<Subcommand> table{
      {"version", "\tversion [-j]\n", "show the versions of this software", pool_version},
      {"create",
       "\tcreate [-fnd] [-o property=value] ... \n"
       "\t    [-O file-system-property=value] ... \n"
       "\t    [-m mountpoint] [-R root] <pool> <vdev> ...\n",
       "make a new pool", pool_create},
      {"destroy", "\tdestroy [-f] <pool>\n", "destroy a pool and all in it", pool_destroy},
      {"add", "\tadd [-afgLnP] [-o property=value] <pool> <vdev> ...\n", "add devices to a pool", pool_add},
      {"labelclear", "\tlabelclear [-f] <vdev>\n", "remove pool labels from a device", pool_labelclear},
      {"list",
       "\tlist [-gHLpPv] [-o property[,...]] [-j [--json-int, --json-pool-key-guid]] ...\n"
       "\t    [-T d|u] [pool] [interval [count]]\n",
       "list pools with their sizes and health", pool_list},
      {"status",
       "\tstatus [--power] [-j [--json-int, --json-flat-vdevs, ...\n"
       "\t    --json-pool-key-guid]] [-c [script1,script2,...]] [-dDegiLpPstvx] ...\n"
       "\t    [-T d|u] [pool] [interval [count]]\n",
       "show the health of pools in detail", pool_status},
      {"import",
       "\timport [-d dir] [-D]\n"
       "\timport [-o mntopts] [-o property=value] ... \n"
       "\t    [-d dir | -c cachefile] [-D] [-l] [-f] [-m] [-N] [-R root] [-F [-n]] -a\n"
       "\timport [-o mntopts] [-o property=value] ... \n"
       "\t    [-d dir | -c cachefile] [-D] [-l] [-f] [-m] [-N] [-R root] [-F [-n]]\n"
       "\t    [--rewind-to-checkpoint] <pool | id> [newpool]\n",
       "list or import pools found on devices", pool_import},
      {"export", "\texport [-af] <pool> ...\n", "let go of a pool, so that it can be imported elsewhere",
       pool_export},
      {"upgrade",
       "\tupgrade\n"
       "\tupgrade -v\n"
       "\tupgrade [-V version] <-a | pool ...>\n",
       "show pool format versions and features", pool_upgrade},
      {"history", "\thistory [-il] [<pool>] ...\n", "show the commands that changed a pool", pool_history},
      {"get",
       "\tget [-Hp] [-j [--json-int, --json-pool-key-guid]] ...\n"
       "\t    [-o \"all\" | field[,...]] <\"all\" | property[,...]> <pool> ...\n",
       "show properties of pools", pool_get},
      {"set",
       "\tset <property=value> <pool>\n"
       "\tset <vdev_property=value> <pool> <vdev>\n",
       "set a property of a pool", pool_set},
      {"sync", "\tsync [pool] ...\n", "write all unsynced data to stable storage", pool_sync},
  };
  return table;
}

const Subcommand& pool_command(const std::string& name) {
  for (const Subcommand& command : pool_commands())
    if (name == command.name) return command;
  std::abort();  // a subcommand that asks for another's entry by a wrong name
}

}  // namespace tarn

int main(int argc, char** argv) {
  const tarn::Program program{
      "zpool", "usage: zpool command args ...\nwhere 'command' is one of the following:\n\n",
      "\nFor further help on a command or topic, run: zpool help [<topic>]\n", &tarn::pool_commands()};
  return tarn::run_program(program, argc, argv);
}
