#pragma once

/* See VideoMasterHD_Core.h. Video is not the first type, so that a lone descriptor is not taken for an array.
 */

enum { VHD_SDI_BT_VIDEO = 2, NB_VHD_SDI_BUFFERTYPE = 4 };
enum { VHD_SDI_STPROC_DISJOINED_VIDEO = 300 };
enum { VHD_SDI_SP_VIDEO_STANDARD = 400 };
enum { VHD_VIDEOSTD_S274M_1080p_25Hz = 500 };
