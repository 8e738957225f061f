// fs: creates, lists, mounts and changes datasets. One file per subcommand; this table names them.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/common/version.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/property_help.h"

namespace tarn {

const char* const kFsHints =
    "\nFor the property list, run: zfs set|get\n\nFor the delegated permission list, run: zfs "
    "allow|unallow\n\n"
    "For further help on a command or topic, run: zfs help [<topic>]\n";

const std::vector<Subcommand>& fs_commands() {
  static const std::vector<Subcommand> table{
      {"version", "\tversion [-j]\n", "show the versions of this software", fs_version},
      {"create",
       "\tcreate [-Pnpuv] [-o property=value] ... <filesystem>\n"
       "\tcreate [-Pnpsv] [-b blocksize] [-o property=value] ... -V <size> <volume>\n",
       "make a file system", fs_create},
      {"destroy",
       "\tdestroy [-fnpRrv] <filesystem|volume>\n"
       "\tdestroy [-dnpRrv] <filesystem|volume>@<snap>[%<snap>][,...]\n"
       "\tdestroy <filesystem|volume>#<bookmark>\n",
       "destroy datasets", fs_destroy},
      {"snapshot", "\tsnapshot [-r] [-o property=value] ... <filesystem|volume>@<snap> ...\n",
       "freeze the state of datasets under a name", fs_snapshot},
      {"rename",
       "\trename [-f] <filesystem|volume|snapshot> <filesystem|volume|snapshot>\n"
       "\trename -p [-f] <filesystem|volume> <filesystem|volume>\n"
       "\trename -u [-f] <filesystem> <filesystem>\n"
       "\trename -r <snapshot> <snapshot>\n",
       "give a dataset another name", fs_rename},
      {"list",
       "\tlist [-Hp] [-j [--json-int]] [-r|-d max] [-o property[,...]] [-s property]...\n"
       "\t    [-S property]... [-t type[,...]] [filesystem|volume|snapshot] ...\n",
       "list datasets with their sizes", fs_list},
      {"set", "\tset [-u] <property=value> ... <filesystem|volume|snapshot> ...\n", "set properties", fs_set},
      {"get",
       "\tget [-rHp] [-j [--json-int]] [-d max] [-o \"all\" | field[,...]]\n"
       "\t    [-t type[,...]] [-s source[,...]]\n"
       "\t    <\"all\" | property[,...]> [filesystem|volume|snapshot|bookmark] ...\n",
       "show properties", fs_get},
      {"inherit", "\tinherit [-rS] <property> <filesystem|volume|snapshot> ...\n",
       "let a property be inherited again", fs_inherit},
      {"mount",
       "\tmount [-j]\n"
       "\tmount [-flvO] [-o opts] <-a|-R filesystem|filesystem>\n",
       "mount file systems, or show what is mounted", fs_mount},
      {"unmount", "\tunmount [-fu] <-a | filesystem|mountpoint>\n", "unmount file systems", fs_unmount},
  };
  return table;
}

const Subcommand& fs_command(const std::string& name) {
  for (const Subcommand& command : fs_commands())
    if (name == command.name) return command;
  std::abort();  // a subcommand that asks for another's entry by a wrong name
}

int fs_misuse(const std::string& command, const std::string& problem, bool with_properties) {
  misuse(fs_command(command), problem);
  if (with_properties) fmt::print(stderr, "{}", dataset_property_help());
  fmt::print(stderr, "{}", kFsHints);
  return kExitUsage;
}

int fs_version(const std::vector<std::string>& arguments) {
  return print_version(fs_command("version"), "zfs version", arguments);
}

}  // namespace tarn

int main(int argc, char** argv) {
  static char unmount_name[] = "unmount", snapshot_name[] = "snapshot";
  if (argc > 1 && std::string_view(argv[1]) == "umount") argv[1] = unmount_name;
  if (argc > 1 && std::string_view(argv[1]) == "snap") argv[1] = snapshot_name;
  const tarn::Program program{"zfs",
                              "usage: zfs command args ...\nwhere 'command' is one of the following:\n\n",
                              "\nEach dataset is of the form: pool/[dataset/]*dataset[@name]\n"
                              "\nFor the property list, run: zfs set|get\n\nFor the delegated permission "
                              "list, run: zfs allow|unallow\n\n"
                              "For further help on a command or topic, run: zfs help [<topic>]\n",
                              &tarn::fs_commands()};
  return tarn::run_program(program, argc, argv);
}
