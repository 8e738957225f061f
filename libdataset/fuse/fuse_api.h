// libfuse's low-level interface at the version that we speak.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
